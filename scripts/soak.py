#!/usr/bin/env python3
"""Runs a server and its clients for hours, some of them through faults, and watches their memory and descriptors.

    soak.py [--preset NAME] [--seed N] HOURS

One client calls the server itself, and none of its calls may fail. Another one calls it through `coracle chaos`, which delays, cuts,
stalls and corrupts connections, sends GOAWAY and resets streams; some of its calls must succeed in each ten minutes. Memory and
descriptors of all programs must not grow from the second quarter of the run to the last one. The preset is release unless told, and
must be built. The measurements are written to build/soak.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.dont_write_bytecode = True

FOLDER = ROOT / "build/soak"
FAULTS = ("delay 0ms..20ms", "close 40s", "goaway 20s", "stall 300s", "corrupt 30MB", "reset 2%", "refuse 5%", "handshake 5%")
TASKS = 20  # of each client
SAMPLE_S = 5
INTERVALS_TOGETHER = 60  # of 10 s, as the client reports
HOURS_MIN = 0.02  # with fewer samples, nothing can be said of memory
END_LIMIT_S = 60  # that calls may take longer than the run
# Allocators round, and the last connections of a quarter may be a few more than before.
GROWTH_MAX, MORE_KB_MAX, MORE_DESCRIPTORS_MAX = 1.05, 2048, 30
COUNT = re.compile(r"(done|failed) (\d+) ?(.*)")


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 31))
    parser.add_argument("hours", type=float)
    wanted = parser.parse_args(arguments)
    if wanted.hours < HOURS_MIN:
        parser.error(f"HOURS is at least {HOURS_MIN}, such as 8 or 0.1")
    return wanted


def sample(pid):
    """(kB of memory, descriptors) of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]), len(os.listdir(f"/proc/{pid}/fd"))


def tallies(client):
    """(calls that were done, {reason: failures}) of each interval that a client has reported. It may have logged other lines."""
    of = []
    for line in client.all_said():
        found = COUNT.fullmatch(line)
        if not found:
            print(f"{client.name}: {line}")
        elif found[1] == "done":
            of.append((int(found[2]), {}))
        else:
            of[-1][1][found[3]] = int(found[2])
    return of


def grown(name, samples):
    """What is wrong with the samples of a program."""
    quarter = len(samples) // 4
    before, after = samples[quarter:2 * quarter], samples[3 * quarter:]
    kb = [statistics.median(kb for kb, _ in part) for part in (before, after)]
    descriptors = [statistics.median(n for _, n in part) for part in (before, after)]
    print(f"{name}: {kb[0]:.0f} kB, then {kb[1]:.0f} kB; {descriptors[0]:.0f} descriptors, then {descriptors[1]:.0f}")
    if kb[1] > kb[0] * GROWTH_MAX + MORE_KB_MAX:
        yield f"the memory of {name} has grown"
    if descriptors[1] > descriptors[0] + MORE_DESCRIPTORS_MAX:
        yield f"{name} has more and more descriptors"


def lost(direct, injured):
    """What is wrong with the calls."""
    done, failed = sum(n for n, _ in direct), sum(sum(reasons.values()) for _, reasons in direct)
    print(f"direct: {done} calls and streams, {failed} failed")
    if failed:
        yield f"calls without faults failed: {next(reasons for _, reasons in direct if reasons)}"
    if not all(n for n, _ in direct[:-1]):  # the last one is what ended after the run
        yield "there was an interval without calls, though without faults"
    done, reasons = sum(n for n, _ in injured), {}
    for _, some in injured:
        for reason, times in some.items():
            reasons[reason] = reasons.get(reason, 0) + times
    print(f"injured: {done} calls and streams, {sum(reasons.values())} failed")
    for reason in sorted(reasons, key=reasons.get, reverse=True)[:10]:
        print(f"  {reasons[reason]:6} {reason}")
    some = min(INTERVALS_TOGETHER, len(injured))
    for i in range(len(injured) - some + 1):
        if not any(n for n, _ in injured[i:i + some]):
            yield f"no call through faults succeeded in {some} intervals from the {i}th on"
            return


def watch(running, wanted, seconds, samples, calls):
    """Runs the programs to their end."""
    from programs import Background, Server, own  # finds programs below the folder of the build
    server = running.enter_context(Server(own("interop_server"), "--port=0"))
    faults = [word for fault in FAULTS for word in ("--fault", fault)]
    chaos = running.enter_context(Server(own("coracle"), "chaos", server.address, "--seed", str(wanted.seed), *faults))
    clients = {name: running.enter_context(Background(own("soak_client"), f"--server_port={port}", f"--seconds={seconds}", f"--tasks={TASKS}"))
               for name, port in (("direct", server.port), ("injured", chaos.port))}
    programs = {"server": server, "chaos": chaos, **clients}
    end = time.monotonic() + seconds - SAMPLE_S
    while time.monotonic() < end:
        time.sleep(SAMPLE_S)
        for name, program in programs.items():
            program.expect_alive()
            samples.setdefault(name, []).append(sample(program.process.pid))
    for name, client in clients.items():
        code = client.process.wait(END_LIMIT_S)
        calls[name] = tallies(client)
        assert code == 0, f"the {name} client has ended with {code}"
    chaos.process.kill()  # its connections end, and with them the calls that the server does not know to be over
    assert server.stop() == 0, "the server did not end well"


def main(arguments):
    wanted = parse(arguments)
    os.environ["CORACLE_BUILD_DIR"] = str(ROOT / "build" / wanted.preset)
    seconds = round(wanted.hours * 3600)
    print(f"{seconds} s, seed {wanted.seed}", flush=True)
    samples, calls = {}, {}
    try:
        with contextlib.ExitStack() as running:
            watch(running, wanted, seconds, samples, calls)
    finally:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "soak.json").write_text(json.dumps({"seed": wanted.seed, "seconds": seconds, "samples": samples, "calls": calls}))
    wrong = [*lost(**calls), *(reason for name, some in samples.items() for reason in grown(name, some))]
    for reason in wrong:
        print(f"FAILED: {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
