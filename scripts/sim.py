#!/usr/bin/env python3
"""Plays the scenarios of tests/sim/swarm in simulated worlds, each seed twice, one process a core.

    sim.py [--preset NAME] --seeds N [--first SEED]    N seeds, from a drawn one unless told
    sim.py [--preset NAME] --seed SEED                 one
    --scenario NAME    only that one                   --trace    show the last events of a seed that fails

The preset is release unless told, and must be built. Prints PASS or FAIL a line; a failure names the command that replays
it. What the processes count is added up: in a long row of seeds each end that a scenario expects must have come about.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
SEEDS_THAT_SHOW_ALL = 500  # a row of so many sees every kind of end
TALLY = re.compile(r"TALLY (\S+) (\d+) (.+)")
PASS = re.compile(r"PASS (\S+)")


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


class Swarm:
    """The processes of one row of seeds, and what they came to together."""

    def __init__(self):
        self.tallies = collections.defaultdict(collections.Counter)  # of each scenario
        self.passed = collections.Counter()                         # processes, of each scenario
        self.lock = threading.Lock()

    def hear(self, output):
        for line in output:
            with self.lock:
                if tally := TALLY.match(line):
                    self.tallies[tally[1]][tally[3]] += int(tally[2])
                elif passed := PASS.match(line):
                    self.passed[passed[1]] += 1
                else:
                    print(line, end="", flush=True)

    def judge(self, processes):
        """True when every scenario has passed; what failed in a process has been told by it."""
        good = bool(self.tallies)
        for scenario, tally in self.tallies.items():
            counted = ", ".join(f"{what} {n}" for what, n in sorted(tally.items()))
            missing = [what for what, n in tally.items() if n == 0 and tally["seeds"] >= SEEDS_THAT_SHOW_ALL]
            for what in missing:
                print(f"FAIL {scenario}: not one of {tally['seeds']} seeds came to: {what}")
            passed = not missing and self.passed[scenario] == processes
            if passed:
                print(f"PASS {scenario}: {counted}")
            good = good and passed
        return good


def play(program, first, count, jobs, options):
    """True when all went well."""
    swarm = Swarm()
    running = [subprocess.Popen([program, "--first", str(begin), "--seeds", str(n), *options], stdout=subprocess.PIPE,
                                text=True) for begin, n in shares(first, count, jobs)]
    listeners = [threading.Thread(target=swarm.hear, args=(one.stdout,)) for one in running]
    for listener in listeners:
        listener.start()
    for listener in listeners:
        listener.join()
    ended_well = [one.wait() == 0 for one in running]
    return swarm.judge(len(running)) and all(ended_well)


def main(arguments):
    wanted = parse(arguments)
    program = ROOT / "build" / wanted.preset / "bin/sim_swarm"
    if not program.exists():
        print(f"sim_swarm was not built: ./dev build {wanted.preset} sim_swarm")
        return 1
    options = [*(["--scenario", wanted.scenario] if wanted.scenario else []), *(["--trace"] if wanted.trace else [])]
    first, count = wanted.seed, 1
    if wanted.seed is None:
        first = random.randrange(1, 1 << 48) if wanted.first is None else wanted.first
        count = wanted.seeds
    print(f"seeds {first} to {first + count - 1} on {wanted.preset}", flush=True)
    return 0 if play(program, first, count, os.cpu_count() or 1, options) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
