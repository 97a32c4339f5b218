"""What a call costs on two loops, against one: each core has a loop and a generator, on one core or on both."""

import concurrent.futures
import os
import pathlib
import statistics
import subprocess
import tempfile

from harness import machine, servers, unary
from harness.tables import spread, table, values

SECONDS = 1.0
GOAL = 1.10  # of the CPU per call on one loop
LOAD = "10x10"  # connections x streams, of each generator
COLUMNS = {"one loop": 1, "two loops": 2}
BACKENDS = ["io_uring", "epoll"]


def measure(backend, name, seconds, build, body):
    loops = COLUMNS[name]
    cores = machine.cores()[:loops]
    kind = servers.Kind(f"coracle {backend}", "bin/bench_loops", CORACLE_BACKEND=backend)
    with servers.running(kind, build, more=[str(loops)]) as server, concurrent.futures.ThreadPoolExecutor(loops) as pool:
        subprocess.run(["taskset", "-a", "-p", "-c", ",".join(map(str, cores)), str(server.process.pid)], check=True,
                       stdout=subprocess.DEVNULL)
        before = server.cpu_seconds()
        loads = [pool.submit(unary.load, server.address, LOAD, seconds, body, core=core) for core in cores]
        answered = sum(load.result()["answered"] for load in loads)
        cpu = server.cpu_seconds() - before
    return {"server": kind.name, "column": name, "answered": answered, "cpu_seconds": cpu,
            "requests_per_second": answered / seconds, "us_per_request": cpu * 1e6 / answered}


def run(chosen):
    if len(os.sched_getaffinity(0)) < 2:
        raise machine.Failure("loops: there is one core; two loops need two")
    seconds = chosen.seconds or SECONDS
    backends = [name for name in BACKENDS if chosen.only in f"coracle {name}"]
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        body = pathlib.Path(folder) / "body"
        body.write_bytes(unary.BODY)
        for number in range(chosen.rounds):
            for backend in backends:
                for name in COLUMNS:
                    runs.append({"round": number, **measure(backend, name, seconds, chosen.build, body)})
    return {"servers": [f"coracle {name}" for name in backends], "columns": list(COLUMNS), "seconds": seconds,
            "rounds": chosen.rounds, "runs": runs}


def report(result):
    kinds, columns = result["servers"], result["columns"]

    def of(what, form):
        return lambda server, column: spread(values(result, server, column, what), form)

    def ratio(server, column):
        pairs = zip(values(result, server, column, "us_per_request"), values(result, server, columns[0], "us_per_request"))
        times = [two / one for two, one in pairs]
        return spread(times, lambda x: f"{x:.2f}") + (", met" if statistics.median(times) <= GOAL else ", not met")

    lines = ["", f"## Calls of 100 bytes on one loop and on two, a loop and a generator of {LOAD} on each core; {result['rounds']}"
             f" rounds of {result['seconds']:g} s, median (min to max)", ""]
    lines += [*table("server CPU, us/request", kinds, columns, of("us_per_request", lambda x: f"{x:.2f}")), ""]
    lines += [*table("requests/s", kinds, columns, of("requests_per_second", lambda x: f"{x:.0f}")), ""]
    lines += [*table(f"CPU per request over one loop's, round by round (goal: at most {GOAL:g})", kinds, columns[1:], ratio)]
    return "\n".join(lines)
