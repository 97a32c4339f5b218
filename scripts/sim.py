#!/usr/bin/env python3
"""Plays the scenarios of tests/sim/swarm in simulated worlds, each seed twice, one process a core.

    sim.py [--preset NAME] --seeds N [--first SEED]    N seeds, from a drawn one unless told
    sim.py [--preset NAME] --seed SEED                 one
    --scenario NAME    only that one                   --trace    show the last events of a seed that fails

The preset is release unless told, and must be built. Prints PASS or FAIL a line; a failure names the command that replays it.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--first", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--scenario")
    parser.add_argument("--trace", action="store_true")
    wanted = parser.parse_args(arguments)
    if (wanted.seeds is None) == (wanted.seed is None):
        parser.error("say --seeds N or --seed SEED")
    return wanted


def shares(first, count, jobs):
    """(first seed, how many) for each process."""
    for job in range(jobs):
        begin, end = count * job // jobs, count * (job + 1) // jobs
        if end > begin:
            yield first + begin, end - begin


def main(arguments):
    wanted = parse(arguments)
    program = ROOT / "build" / wanted.preset / "bin/sim_swarm"
    if not program.exists():
        print(f"FAIL sim_swarm: it was not built: ./dev build {wanted.preset} sim_swarm")
        return 1
    options = [*(["--scenario", wanted.scenario] if wanted.scenario else []), *(["--trace"] if wanted.trace else [])]
    first, count = wanted.seed, 1
    if wanted.seed is None:
        first = random.randrange(1, 1 << 48) if wanted.first is None else wanted.first
        count = wanted.seeds
    print(f"seeds {first} to {first + count - 1} on {wanted.preset}", flush=True)
    running = [subprocess.Popen([program, "--first", str(begin), "--seeds", str(n), *options])
               for begin, n in shares(first, count, os.cpu_count() or 1)]
    return 1 if any([one.wait() for one in running]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
