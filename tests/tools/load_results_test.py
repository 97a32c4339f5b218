"""Where the results of coracle load go: files that keep what they hold until there is something new, and one standard output."""

import json
import os

import pytest

from load_command import FAILURE, GREET, USAGE, adds_up, load
from programs import own, run

OPTIONS = ("--json", "--csv", "--report")


@pytest.fixture(scope="module")
def server(greeter_server):
    return greeter_server


def test_a_run_that_fails_leaves_the_old_results(tmp_path):
    for option in OPTIONS:
        old, new = tmp_path / f"old{option}", tmp_path / f"new{option}"
        old.write_text("of yesterday")
        for file in (old, new):
            done = run(own("coracle"), "load", "127.0.0.1:1", "-p", "a.B/C", "--raw", "/dev/null", "-n", "1", option, file)
            assert done.returncode == FAILURE, "the exit code"
        assert old.read_text() == "of yesterday", "the old results"
        assert not new.exists(), "there is an empty file"


def test_new_results_take_the_place_of_old_ones(tmp_path, server):
    file, link = tmp_path / "results", tmp_path / "link"
    file.write_text("x" * 1_000_000)
    os.chmod(file, 0o640)
    link.symlink_to("results")
    load(server, *GREET, "-n", "20", "--json", link)
    adds_up(json.loads(file.read_text())["runs"][0], 20)
    assert link.is_symlink(), "the link has been replaced"
    assert file.stat().st_mode & 0o777 == 0o640, "the mode"
    load(server, *GREET, "-n", "20", "--json", "/dev/null", "--csv", tmp_path / "rows")
    assert (tmp_path / "rows").read_text().count("\n") > 1, "there are no rows"


def test_what_cannot_be_written_is_told_before_the_run(tmp_path):
    for file in (tmp_path / "nowhere" / "x", tmp_path):
        done = run(own("coracle"), "load", "127.0.0.1:1", "-p", "a.B/C", "--raw", "/dev/null", "-n", "1", "--report", file)
        assert done.returncode == FAILURE, "the exit code"
        assert f"the file {file} cannot be written" in done.stderr, f"it says {done.stderr!r}"


def test_two_results_never_share_a_place(tmp_path, server):
    for first, second in (OPTIONS[:2], OPTIONS[::2], OPTIONS[1:]):
        for place in ("-", tmp_path / "both"):
            done = load(server, *GREET, "-n", "1", first, place, second, place, code=USAGE)
            assert done.stdout == "", "what is printed"
            assert "is used twice" in done.stderr, f"it says {done.stderr!r}"
    assert not (tmp_path / "both").exists(), "a file has been made"
