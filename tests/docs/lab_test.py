"""The exercises of docs/lab, by the commands that its pages show: a skeleton fails its test, and the solution passes it."""

import re
import shlex
import shutil
import subprocess

import pytest

from programs import ROOT

LAB = ROOT / "docs/lab"
EXERCISES = sorted(folder.name for folder in LAB.iterdir() if folder.is_dir())
STEP = re.compile(r"// Step (\d+)\b")
LIMIT_S = 60


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A copy, since a reader's program is made beside the sources."""
    return shutil.copytree(LAB, tmp_path_factory.mktemp("docs") / "lab")


def commands_of(exercise):
    """The lines of the page's only block of commands, after its cd."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (LAB / exercise / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 1, "a page shows its commands once"
    cd, *rest = blocks[0].splitlines()
    assert cd == f"cd docs/lab/{exercise}", "the first command"
    return rest


def outcome_of(exercise, lab, *, begin_with):
    """What a reader sees who copies a folder and runs the test."""
    copy, test = commands_of(exercise)
    assert copy == "cp -r skeleton mine", "the second command"
    shutil.rmtree(lab / exercise / "mine", ignore_errors=True)
    for command in (copy.replace("skeleton", begin_with), *test.split(" && ")):
        words = shlex.split(command)
        if words[0] == "g++":
            words[1:1] = ["-Wall", "-Wextra", "-Werror"]
        done = subprocess.run(words, cwd=lab / exercise, capture_output=True, text=True, timeout=LIMIT_S)
        assert words[0] not in ("cp", "g++") or done.returncode == 0, f"{command}: {done.stderr[-1000:]}"
    return done


def test_there_are_eight_exercises():
    assert len(EXERCISES) == 8


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_skeleton_compiles_and_fails_at_an_expectation(exercise, lab):
    done = outcome_of(exercise, lab, begin_with="skeleton")
    assert done.returncode == 1, f"the exit code ({done.stdout} {done.stderr})"
    last = done.stdout.splitlines()[-1]
    assert last.startswith("FAILED: ") and "an exception" not in last, "it fails at something else than an expectation"


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_solution_passes(exercise, lab):
    done = outcome_of(exercise, lab, begin_with="solution")
    assert done.returncode == 0, f"the exit code ({done.stdout} {done.stderr})"
    *lines, last = done.stdout.splitlines()
    assert last == "The exercise is solved." and lines and all(line.startswith("ok: ") for line in lines), done.stdout


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_skeleton_has_numbered_steps_and_a_solution_none(exercise):
    skeleton, solution = ("".join(file.read_text() for file in sorted((LAB / exercise / kind).iterdir()))
                          for kind in ("skeleton", "solution"))
    steps = sorted(int(number) for number in STEP.findall(skeleton))
    assert steps and steps == list(range(1, len(steps) + 1)), "the numbers of the steps"
    assert not STEP.search(solution), "a solution with a step that is open"


def test_the_overview_shows_what_the_first_skeleton_says(lab):
    text = (LAB / "README.md").read_text()
    done = outcome_of("01_event", lab, begin_with="skeleton")
    assert f"\n{done.stdout}```" in text, done.stdout
    assert "\n".join(commands_of("01_event")) in text, "the commands of the first exercise"
