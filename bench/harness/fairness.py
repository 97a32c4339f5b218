"""How small calls fare beside a bulk stream on the same connection: their latency with and without, round by round."""

import contextlib
import json
import os
import statistics
import subprocess

from harness import machine, servers
from harness.tables import spread, table, values

SECONDS = 1.0
GOAL = 2.0  # times the p99 of the same calls with nobody else there
ALONE = "alone"
BESIDE = ["down", "up"]
CALLS = [1, 10]  # at a time
PROGRAM = "bin/bench_sharing"
KINDS = [servers.Kind("coracle io_uring", PROGRAM, CORACLE_BACKEND="io_uring"),
         servers.Kind("coracle epoll", PROGRAM, CORACLE_BACKEND="epoll")]


@contextlib.contextmanager
def first_in_line():
    """What is started meanwhile goes before all else on its core: measured are the two programs, not the scheduler."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError as refusal:
        raise machine.Failure(f"real-time priority needs root, or CAP_SYS_NICE: {refusal}") from refusal
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def measure(server, kind, calls, bulk, seconds, build):
    command = ["timeout", str(seconds + 30), "taskset", "-c", str(machine.cores()[1]), build / PROGRAM, server.port, bulk,
               str(seconds), str(calls)]
    before = server.cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **kind.environment})
    if done.returncode != 0:
        raise machine.Failure(f"the calls {bulk} failed: {done.stderr.strip() or done.returncode}")
    return {"column": column(calls, bulk), **json.loads(done.stdout), "server_cpu_s": server.cpu_seconds() - before}


def column(calls, bulk):
    return f"{calls} at a time, {bulk}"


def run(chosen):
    seconds = chosen.seconds or SECONDS
    kinds = [kind for kind in KINDS if chosen.only in kind.name]
    columns = [column(calls, bulk) for calls in CALLS for bulk in (ALONE, *BESIDE)]
    runs = []
    for number in range(chosen.rounds):
        for kind in kinds:
            with first_in_line(), servers.running(kind, chosen.build) as server:
                for calls in CALLS:
                    for bulk in (ALONE, *BESIDE):
                        runs.append({"round": number, "server": kind.name,
                                     **measure(server, kind, calls, bulk, seconds, chosen.build)})
    return {"servers": [kind.name for kind in kinds], "columns": columns, "seconds": seconds, "rounds": chosen.rounds,
            "runs": runs}


def report(result):
    kinds, columns = result["servers"], result["columns"]
    beside = [name for name in columns if not name.endswith(ALONE)]

    def of(what):
        return lambda server, name: spread(values(result, server, name, what), lambda x: f"{x:.0f}")

    def ratio(server, name):
        calm = name.rsplit(", ", 1)[0] + ", " + ALONE
        pairs = zip(values(result, server, name, "p99_us"), values(result, server, calm, "p99_us"))
        times = [with_bulk / without for with_bulk, without in pairs]
        return spread(times, lambda x: f"{x:.2f}") + (", met" if statistics.median(times) <= GOAL else ", not met")

    def rate(server, name):
        way = name.rsplit(", ", 1)[1]
        return spread(values(result, server, name, f"{way}_mb_per_s"), lambda x: f"{x:.0f}")

    lines = ["", f"## Small calls beside a stream of 64 KiB messages on the same connection, from the server (down) or to it (up);"
             f" {result['rounds']} rounds of {result['seconds']:g} s, median (min to max)", ""]
    lines += [*table("p50, us", kinds, columns, of("p50_us")), "", *table("p99, us", kinds, columns, of("p99_us")), ""]
    lines += [*table(f"p99 over p99 alone, round by round (goal: at most {GOAL:g})", kinds, beside, ratio), ""]
    lines += [*table("bulk, MB/s", kinds, beside, rate)]
    return "\n".join(lines)
