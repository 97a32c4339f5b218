"""A day of a small fleet (tests/sim/day): protections keep what its capacity allows, and without them it does not recover."""

import subprocess

import pytest

from programs import own

SEEDS = (1,)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_small_fleet_lives_through_its_day(seed):
    done = subprocess.run([own("sim_day"), "--seed", str(seed), "--services", "1"], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    assert f"PASS seed {seed}" in done.stdout
