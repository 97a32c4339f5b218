"""Traces of another architecture are judged, and what cannot be run there is refused (scripts/cross.py)."""

import pytest

import cross
from outcome import Outcome

HERE = {"calls 1": "00000000000000aa", "calls 2": "00000000000000bb"}


def judged(found, expected=HERE):
    outcome = Outcome("sim")
    cross.compare(outcome, expected, found)
    return outcome.passed, [case for case, _ in outcome.failed]


def test_equal_traces_pass():
    assert judged(dict(HERE)) == (2, [])


def test_a_seed_with_other_events_is_a_failure():
    assert judged({**HERE, "calls 2": "00000000000000bc"}) == (1, ["calls 2"])


@pytest.mark.parametrize(("found", "expected"), [({"calls 1": HERE["calls 1"]}, HERE), (HERE, {"calls 1": HERE["calls 1"]})])
def test_a_seed_that_one_of_the_two_did_not_play_is_a_failure(found, expected):
    assert judged(found, expected) == (1, ["calls 2"])


def test_hashes_are_those_that_the_swarm_prints():
    assert dict(cross.HASH.findall("HASH calls 7 00000000000000aa\nTALLY calls 1 seeds\nPASS calls from seed 7, 1 seeds\n")) == {"calls 7": "00000000000000aa"}


@pytest.mark.parametrize(("arguments", "words"), [
    (["s390x", "e2e"], "there is no suite e2e for s390x; there are: unit, sim"),
    (["riscv64"], "invalid choice"),
])
def test_what_it_cannot_run_is_refused(arguments, words, capsys):
    with pytest.raises(SystemExit) as end:
        cross.main(arguments)
    assert end.value.code == 2
    assert words in capsys.readouterr().err
