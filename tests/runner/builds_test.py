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
    """What builds: notes (preset, whether it has a turn to wait for), and fails for the preset "bad"."""
    begun = []

    def build(preset, targets, options, turn=None):
        begun.append((preset, turn is not None))
        failed = [(preset, "planted")] if preset == "bad" else []
        return Outcome(f"build ({preset})", failed=failed, seconds=LIMIT_S)

    monkeypatch.setattr(builds, "build", build)
    return begun


def outcomes(*suites):
    with BuildsAhead(suites) as ahead:
        return [ahead.run(suite) for suite in suites]


def test_a_build_runs_beside_the_tests_before_it(monkeypatch):
    has_begun = threading.Event()

    def build(preset, targets, options, turn=None):
        if preset == "second":
            has_begun.set()
        return Outcome(f"build ({preset})", seconds=LIMIT_S)

    monkeypatch.setattr(builds, "build", build)
    _, tests, second = outcomes(Build("first"), lambda: Outcome("tests", passed=int(has_begun.wait(LIMIT_S))), Build("second"))
    assert tests.passed == 1
    assert second.seconds < LIMIT_S and second.seconds + second.seconds_beside_others == pytest.approx(LIMIT_S)


def test_all_builds_but_the_first_begin_before_their_turn(planted):
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

    def build(preset, targets, options, turn=None):
        if preset != "first":
            has_begun.set()
            Run(["sleep", "60"], tmp_path / preset, 60, turn=turn)
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


def test_before_its_turn_a_command_has_the_priority_of_nice(tmp_path):
    assert Run(["nice"], tmp_path / "log", LIMIT_S, turn=threading.Event()).text.strip() == "19"
    assert Run(["nice"], tmp_path / "log", LIMIT_S).text.strip() == str(os.nice(0))


def begin_before_its_turn(script, log, timeout_s):
    """The turn of a command that runs in a thread, that thread, and where it will put the command."""
    turn, ended = threading.Event(), []
    thread = threading.Thread(target=lambda: ended.append(Run(["sh", "-c", script], log, timeout_s, turn=turn)))
    thread.start()
    return turn, thread, ended


def wait_for(path, thread):
    while thread.is_alive() and not path.exists():
        threading.Event().wait(0.05)


def test_a_command_whose_turn_has_come_has_the_ordinary_priority_again(tmp_path):
    """Where the user may give it."""
    begun = tmp_path / "begun"
    script = f"touch {begun}; n=0; while [ $(nice) = 19 ] && [ $n -lt 40 ]; do sleep 0.05; n=$((n + 1)); done; nice"
    turn, thread, ended = begin_before_its_turn(script, tmp_path / "log", LIMIT_S)
    wait_for(begun, thread)
    turn.set()
    thread.join()
    assert ended[0].text.strip() == (str(os.nice(0)) if os.geteuid() == 0 else "19")


def test_the_time_limit_of_a_command_counts_from_its_turn(tmp_path):
    late = tmp_path / "late"
    turn, thread, ended = begin_before_its_turn(f"sleep 1; touch {late}; sleep 60", tmp_path / "log", timeout_s=0.5)
    wait_for(late, thread)
    assert thread.is_alive() and late.exists()
    turn.set()
    thread.join()
    assert ended[0].code is None and ended[0].seconds < LIMIT_S


def test_a_command_may_end_before_its_turn(tmp_path):
    assert Run(["true"], tmp_path / "log", LIMIT_S, turn=threading.Event()).code == 0
