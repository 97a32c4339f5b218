#!/usr/bin/env python3
"""Replaces a server by a new process, again and again, while clients that never retry make calls, streams and connections.

    upgrades.py [N] [--preset NAME] [--loops N] [--tls]

N upgrades (1,000 unless told) are shared among the I/O backends. Prints what was made and what was lost; the exit code is 1 if anything
was. The program of tests/interop/handover_pair.cpp must be built; the preset is release unless told.
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("upgrades", nargs="?", type=int, default=1000)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--tls", action="store_true")
    return parser.parse_args(arguments)


def play(upgrades, env, folder):
    """The tally of the client, why calls were lost, and the durations of the upgrades in ms."""
    from handovers import Caller, Generations

    durations = []
    with Generations(folder / "handover", "127.0.0.1:0", env=env) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        caller.makes_some()
        for i in range(upgrades):
            begin = time.monotonic()
            server.upgrade()
            durations.append((time.monotonic() - begin) * 1000)
            caller.until(lambda now: now["by"] == server.current)
            server.said.clear()  # thousands of lines
            if sys.stderr.isatty():
                print(f"\r{env['CORACLE_BACKEND']}: {i + 1} of {upgrades}", end="", file=sys.stderr)
        if sys.stderr.isatty():
            print(file=sys.stderr)
        caller.makes_some()
        tally, errors = caller.end()
        assert server.stop_current() == 0, "the exit code of the last process"
    return tally, errors, durations


def main(arguments):
    given = parse(arguments)
    os.environ["CORACLE_BUILD_DIR"] = str(ROOT / "build" / given.preset)
    from programs import backends

    shares = backends()
    row = "{:10} {:>9} {:>10} {:>9} {:>12} {:>6}   {:>13} {:>8}"
    print(row.format("backend", "upgrades", "calls", "streams", "connections", "lost", "upgrade median", "longest"))
    lost = 0
    for i, backend in enumerate(shares):
        upgrades = given.upgrades * (i + 1) // len(shares) - given.upgrades * i // len(shares)
        if upgrades == 0:
            continue
        env = {"CORACLE_BACKEND": backend, "HANDOVER_LOOPS": str(given.loops), "HANDOVER_GOAWAY_MS": "50"}
        with tempfile.TemporaryDirectory() as folder:
            if given.tls:
                from certificates import Certificates
                Certificates(folder)
                env["HANDOVER_CERTS"] = folder
            tally, errors, durations = play(upgrades, env, pathlib.Path(folder))
        durations.sort()
        print(row.format(backend, upgrades, f"{tally['calls']:,}", f"{tally['streams']:,}", f"{tally['connections']:,}", tally["lost"],
                         f"{durations[len(durations) // 2]:.0f} ms", f"{durations[-1]:.0f} ms"))
        lost += tally["lost"]
        if tally["lost"]:
            print(errors[:4000], file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
