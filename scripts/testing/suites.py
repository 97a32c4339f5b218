"""Runs suites by the tools that know their tests, CTest and pytest, and counts their cases."""

import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

import junit
import left_out
import peers
from outcome import Outcome
from process import BUILD, ROOT, Run, log_of

CPUS = os.cpu_count() or 1
BUILD_LIMIT_S = 40 * 60
SUITE_LIMIT_S = 30 * 60
TESTS = ROOT / "tests"
NO_TESTS = 5  # pytest's exit code
PACKAGE_INDEX_UNAVAILABLE = 69  # that of scripts/protobuf
# On CI, which starts from nothing: ccache need not preprocess each file to find that it does not have it.
NOTHING_IS_CACHED = {"CCACHE_DEPEND": "1"} if os.environ.get("CI") else {}
# Huge pages for clang, where the kernel has them for programs that ask: it takes 4 % less time.
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def build(preset, targets=(), options=(), turn=None):
    """Configures and builds a preset, and goes on after an error so that one run shows them all. Of its turn: Run."""
    suite, started = f"build ({preset})", time.time()
    outcome = Outcome(suite)
    steps = [["cmake", "--preset", preset, *options],
             ["cmake", "--build", "--preset", preset, *(["--target", *targets] if targets else []), "--", "-k", "0"]]
    for step in steps:
        one = Run(step, log_of(f"{suite}-{'build' if '--build' in step else 'configure'}"), BUILD_LIMIT_S, NOTHING_IS_CACHED | HUGE_PAGES,
                  turn)
        outcome.note(one)
        if one.code != 0:
            outcome.failed.append((preset, first_error(one.text) or one.ended))
            forget_older_programs(preset, started)
            break
    return outcome


def forget_older_programs(preset, started):
    """What a failed build did not get to must not be tested in its older form."""
    for program in (BUILD / preset / "bin").glob("*"):
        if program.stat().st_mtime < started:
            program.unlink()


def first_error(text):
    found = re.search(r"^.*(?:error:|CMake Error|undefined reference|multiple definition|ninja: error).*$", text, re.M)
    return found[0].strip()[:300] if found else None


def headers(suite, of_adapters=False):
    """Each public header compiles alone: CMake's verification of header sets (tests/headers.cmake). It counts those that are compiled."""
    commands = json.loads((BUILD / "release/compile_commands.json").read_text())
    found = (re.search(r"/((\w+)_headers_verify_interface_header_sets)/(\S+)\.cxx$", command["file"]) for command in commands)
    sources = {(source[1], source[3]) for source in found if source and (source[2] not in ("public", "macro")) == of_adapters}
    targets = sorted({target for target, _ in sources})
    one = Run(["cmake", "--build", "--preset", "release", "--target", *targets, "--", "-k", "0"], log_of(suite), BUILD_LIMIT_S, NOTHING_IS_CACHED)
    broken = set(re.findall(r"^FAILED: \S*_verify_interface_header_sets/(\S+)\.cxx\.o", one.text, re.M))
    outcome = Outcome(suite, len(sources) - len(broken), [(name, "does not compile alone") for name in sorted(broken)])
    outcome.note(one)
    if one.code != 0 and not broken:
        outcome.passed = 0
        outcome.failed.append((suite, first_error(one.text) or one.ended))
    return outcome


def add(outcome, cases):
    """Adds cases of a program on GoogleTest, which may be left out for listed reasons alone."""
    for name, verdict, reason in cases:
        if verdict == "passed":
            outcome.passed += 1
        elif verdict == "skipped" and left_out.may_be(reason):
            outcome.left_out.append((name, reason))
        elif verdict == "skipped":
            outcome.failed.append((name, f"left out, for a reason that is not in left_out.py: {reason}"))
        else:
            outcome.failed.append((name, reason))


def last_words(output):
    """The summary of a sanitizer's report with where its stacks begin, or the last line."""
    if summary := re.search(r"^SUMMARY: .*$", output, re.M):
        return "; ".join([summary[0], *re.findall(r"^ +(#[01] .*)$", output, re.M)[:6]])[:1000]
    return (output.strip().splitlines() or ["it said nothing"])[-1][:200]


def add_shard(outcome, name, succeeded, output, report):
    """A whole report is believed; without one the printed lines are counted, and the end is a failure."""
    before = len(outcome.failed)
    try:
        add(outcome, junit.cases(report))
    except (OSError, xml.etree.ElementTree.ParseError):
        outcome.passed += len(re.findall(r"^\[       OK \] ", output, re.M))
        begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
        outcome.failed.append((begun[-1] if begun else name, f"{name} ended in it: {last_words(output)}"))
    if not succeeded and len(outcome.failed) == before:
        outcome.failed.append((name, "its tests passed, but its end was no success"))


def ctest(suite, preset, label, env=None, jobs=2 * CPUS):
    """The shards of tests/ctest.cmake whose label begins so."""
    outcome, log = Outcome(suite), log_of(suite)
    summary, results = log.with_suffix(".xml"), BUILD / preset / "test-results"
    for old in [summary, *results.glob(f"{label}.*.xml")]:
        old.unlink(missing_ok=True)
    one = Run(["ctest", "--preset", preset, "-C", "shards", "-L", f"^shards-{re.escape(label)}", "-j", jobs, "--no-tests=error",
               "--output-on-failure", "--test-output-size-failed", 1 << 20, "--test-output-truncation", "head",
               "--output-junit", summary], log, SUITE_LIMIT_S, env)
    outcome.note(one)
    for name, (succeeded, output) in (junit.output_of(summary) if summary.exists() else {}).items():
        if name != "certificates":
            add_shard(outcome, name, succeeded, output, results / f"{name}.xml")
    if one.code != 0 and not outcome.failed:
        outcome.failed.append((suite, f"{one.ended}: {one.last_line}"))
    return outcome


def python():
    """The peers' Python, which has their libraries too; before they are installed Debian's, which has pytest."""
    wanted = "import pytest, pytest_timeout, xdist"
    if peers.PYTHON.exists() and subprocess.run([peers.PYTHON, "-c", wanted], stderr=subprocess.DEVNULL).returncode == 0:
        return peers.PYTHON
    return peers.SYSTEM_PYTHON


def pytest(suite, *paths, env=None, jobs=CPUS, options=(), one_of_each=True):
    """The tests below these folders of tests/; of those with a label (labels.py) only one of each kind, unless told otherwise."""
    outcome, log = Outcome(suite), log_of(suite)
    summary = log.with_suffix(".xml")
    summary.unlink(missing_ok=True)
    one = Run([python(), "-B", "-m", "pytest", "-c", TESTS / "pytest.ini", "--rootdir", TESTS, "-p", "no:cacheprovider", "-n", jobs,
               "--junit-xml", summary, *(["--one-of-each"] if one_of_each else []), *options, *(TESTS / path for path in paths)], log, SUITE_LIMIT_S, env)
    outcome.note(one)
    for name, verdict, reason in junit.cases(summary) if summary.exists() else ():
        if verdict == "passed":
            outcome.passed += 1
        else:  # on CI nothing is skipped but tests with a label: conftest.py
            (outcome.left_out if verdict == "skipped" else outcome.failed).append((name, reason))
    nothing_but_skips = one.code == NO_TESTS and outcome.left_out
    if one.code != 0 and not outcome.failed and not nothing_but_skips:
        outcome.failed.append((suite, f"{one.ended}: {one.last_line}"))
    return outcome


def gate(suite):
    """What a call costs in instructions, against what is kept: bench/harness/gate.py."""
    outcome, log = Outcome(suite), log_of(suite)
    one = Run([sys.executable, "-B", "-m", "harness.gate", BUILD / "release"], log, SUITE_LIMIT_S, {"PYTHONPATH": str(ROOT / "bench")})
    outcome.note(one)
    if one.code != 0:
        outcome.failed.append((suite, f"{one.ended}: {one.last_line}"))
        return outcome
    judged = json.loads(one.text.splitlines()[-1])
    if isinstance(judged, str):  # on CI the compiler is the one of the figures
        (outcome.failed if os.environ.get("CI") else outcome.left_out).append((suite, judged))
        return outcome
    outcome.passed = sum(not fault for _, fault in judged)
    outcome.failed = [(name, fault) for name, fault in judged if fault]
    return outcome


def languages(suite):
    """The package for Python, made and tested as a user gets it: scripts/languages.py."""
    outcome, log = Outcome(suite), log_of(suite)
    summary = BUILD / "languages/results/python.xml"
    summary.unlink(missing_ok=True)
    one = Run([sys.executable, "-B", ROOT / "scripts/languages.py", "python"], log, SUITE_LIMIT_S)
    outcome.note(one)
    for name, verdict, reason in junit.cases(summary) if summary.exists() else ():
        if verdict == "passed":
            outcome.passed += 1
        else:
            (outcome.left_out if verdict == "skipped" else outcome.failed).append((name, reason))
    if one.code != 0 and not outcome.failed:
        outcome.failed.append((suite, f"{one.ended}: {one.last_line}"))
    return outcome


def newer_protobuf(suite):
    """The sources that use protobuf most compile with the headers of the newest one: scripts/protobuf/sources.py."""
    outcome, log = Outcome(suite), log_of(suite)
    one = Run([sys.executable, "-B", ROOT / "scripts/protobuf", "newest", "sources"], log, SUITE_LIMIT_S)
    outcome.note(one)
    if one.code == 0:
        outcome.passed = 1
    elif one.code == PACKAGE_INDEX_UNAVAILABLE and not os.environ.get("CI"):
        outcome.left_out.append((suite, one.last_line))
    else:
        outcome.failed.append((suite, first_error(one.text) or f"{one.ended}: {one.last_line}"))
    return outcome


def sanitizers():
    """The options of the sanitizers, as the test presets have them."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["testPresets"]
    return {name: value.replace("${sourceDir}", str(ROOT)) for name, value in presets[0]["environment"].items()}
