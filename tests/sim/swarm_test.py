"""The scenarios of the swarm over many seeds (scripts/sim.py), of the preset that CORACLE_BUILD_DIR was built from."""

import os
import pathlib

import pytest

import sim
from programs import own

SEEDS = int(os.environ.get("CORACLE_SIM_SEEDS") or 50)
# Its handshakes are real ones: a seed takes ten times as long as another scenario's.
FEWER = {"secured": 5}
SCENARIOS = sorted(path.name.removesuffix("_scenario.cpp") for path in pathlib.Path(__file__).parent.glob("swarm/*_scenario.cpp"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_seed_passes(scenario, capsys):
    passed = sim.play(own("sim_swarm"), 1, max(SEEDS // FEWER.get(scenario, 1), 1), os.cpu_count() or 1, ["--scenario", scenario])
    told = capsys.readouterr().out
    assert passed, "".join(line for line in told.splitlines(True) if line.startswith("FAIL")) or told[-2000:]


TOLD = 'echo "TALLY calls $4 seeds"; echo "TALLY calls 0 drained"; '
PASSED = 'echo "PASS calls from here"'


@pytest.fixture
def swarm(tmp_path, capsys):
    """Plays a stand-in for sim_swarm in two processes, which finds its first seed in $2 and their count in $4: whether that passes,
    and whether an end that is missing is named."""
    def play(text, seeds=1000):
        program = tmp_path / "planted.sh"
        program.write_text("#!/bin/sh\n" + text)
        program.chmod(0o755)
        passed = sim.play(program, 1, seeds, 2, [])
        return passed, "not one of" in capsys.readouterr().out
    return play


def test_an_end_seen_by_one_process_is_seen(swarm):
    assert swarm(TOLD + '[ $2 = 1 ] || echo "TALLY calls 2 drained"; ' + PASSED) == (True, False)


def test_an_end_that_no_process_saw_is_a_failure(swarm):
    assert swarm(TOLD + PASSED) == (False, True)


def test_a_short_row_of_seeds_need_not_see_all_ends(swarm):
    assert swarm(TOLD + PASSED, seeds=10) == (True, False)


def test_a_process_that_does_not_pass_is_a_failure(swarm):
    assert swarm(TOLD + 'echo "TALLY calls 2 drained"; [ $2 = 1 ] || ' + PASSED) == (False, False)


def test_a_process_that_dies_is_a_failure(swarm):
    assert swarm(TOLD + 'echo "TALLY calls 2 drained"; ' + PASSED + "; [ $2 = 1 ]") == (False, False)


def test_silence_is_a_failure(swarm):
    assert swarm("exit 0") == (False, False)
