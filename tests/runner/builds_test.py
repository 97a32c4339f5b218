"""Builds of ./dev test that begin before their turn."""

import os
import threading
import time

import pytest

import builds
from builds import Build, BuildsAhead, with_builds
from outcome import Outcome
from process import Run

LIMIT_S = 20


@pytest.fixture
def planted(monkeypatch):
    """What builds: notes (preset, whether it has the lowest priority), and fails for the preset "bad"."""
    begun = []

    def build(preset, targets, options, lowest_priority=False):
        begun.append((preset, lowest_priority))
        failed = [(preset, "planted")] if preset == "bad" else []
        return Outcome(f"build ({preset})", failed=failed, seconds=LIMIT_S)

    monkeypatch.setattr(builds, "build", build)
    return begun


def outcomes(*suites):
    with BuildsAhead(suites) as ahead:
        return [ahead.run(suite) for suite in suites]


def test_a_build_runs_beside_the_tests_before_it(monkeypatch):
    has_begun = threading.Event()

    def build(preset, targets, options, lowest_priority=False):
        if preset == "second":
            has_begun.set()
        return Outcome(f"build ({preset})", seconds=LIMIT_S)

    monkeypatch.setattr(builds, "build", build)
    _, tests, second = outcomes(Build("first"), lambda: Outcome("tests", passed=int(has_begun.wait(LIMIT_S))), Build("second"))
    assert tests.passed == 1
    assert second.seconds < LIMIT_S and second.seconds + second.seconds_beside_others == pytest.approx(LIMIT_S)


def test_the_first_build_alone_has_the_ordinary_priority(planted):
    outcomes(Build("first"), Build("second"), Build("third"))
    assert planted == [("first", False), ("second", True), ("third", True)]


def test_a_build_of_what_tests_use_waits_for_its_turn(planted):
    outcomes(Build("first"), lambda: Outcome("tests", passed=len(planted)), Build("second", in_use=True))
    assert planted == [("first", False), ("second", False)]


def test_a_build_that_is_not_asked_for_does_not_begin(planted):
    with BuildsAhead([]):
        assert Build("second")().seconds == LIMIT_S
    assert planted == [("second", False)]


def test_a_suite_brings_the_builds_of_its_preset_before_it():
    suites = [("build (b)", Build("b")), ("build (a)", Build("a")), ("unit (a)", None), ("build (a, the rest)", Build("a")), ("e2e (a)", None),
              ("build (a, more)", Build("a"))]
    assert [name for name, _ in with_builds(suites, ["unit"])] == ["build (a)", "unit (a)"]
    assert [name for name, _ in with_builds(suites, ["e2e"])] == ["build (a)", "build (a, the rest)", "e2e (a)"]
    assert with_builds(suites, []) == suites


def test_a_build_that_fails_beside_tests_is_a_failure_of_its_own(planted):
    first, tests, bad, last = outcomes(Build("first"), lambda: Outcome("tests", passed=1), Build("bad"), Build("last"))
    assert [outcome.failed for outcome in (first, tests, bad, last)] == [[], [], [("bad", "planted")], []]


def test_the_first_build_says_what_happens_meanwhile(planted):
    called = []
    outcomes(Build("first", meanwhile=lambda: called.append(len(planted))))
    assert called == [0]


def test_an_interruption_ends_builds_that_run(tmp_path, monkeypatch):
    has_begun = threading.Event()

    def build(preset, targets, options, lowest_priority=False):
        if preset != "first":
            has_begun.set()
            Run(["sleep", "60"], tmp_path / preset, 60, lowest_priority=lowest_priority)
        return Outcome(preset)

    def interrupted():
        assert has_begun.wait(LIMIT_S)
        raise KeyboardInterrupt

    monkeypatch.setattr(builds, "build", build)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        outcomes(Build("first"), interrupted, Build("second"), Build("third"))
    assert time.monotonic() - began < 2 * LIMIT_S
    assert not (tmp_path / "third").exists()


def test_the_lowest_priority_is_that_of_nice(tmp_path):
    assert Run(["nice"], tmp_path / "log", LIMIT_S, lowest_priority=True).text.strip() == "19"
    assert Run(["nice"], tmp_path / "log", LIMIT_S).text.strip() == str(os.nice(0))


def test_a_build_whose_turn_has_come_has_the_ordinary_priority_again(tmp_path):
    """Where the user may give it."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    found = []
    script = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.05; done; nice"
    thread = threading.Thread(target=lambda: found.append(Run(["sh", "-c", script], tmp_path / "log", LIMIT_S, lowest_priority=True)))
    thread.start()
    while thread.is_alive() and not (begun.exists() and Run.running()):
        threading.Event().wait(0.05)
    Run.restore_priorities()
    go.touch()
    thread.join()
    assert found[0].text.strip() == (str(os.nice(0)) if os.geteuid() == 0 else "19")
