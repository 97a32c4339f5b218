"""Unary calls, one after another, on a loop that another event loop drives, against one that drives itself."""

import os
import statistics
import subprocess

from harness import machine
from harness.tables import ratios, row, spread, values

CALLS, ROUNDS = 5_000, 15
GOAL = 1.10  # of the latency on the loop's own
OWN = "own"
LOOPS = (OWN, "poll", "uv", "glib")
BACKENDS = ("io_uring", "epoll")
SERVERS = {"same": "client and server on one loop", "apart": "the server on a loop of another thread"}
NUMBERS = {"p50": "p50, us", "mean": "mean, us", "cpu": "CPU of the client's thread, us/call"}
TIMEOUT_S = 120


def measure(backend, server, loop, build):
    command = [build / "bin/bench_foreign_loop", loop, server, str(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env={**os.environ, "CORACLE_BACKEND": backend})
    words = done.stdout.split()
    if done.returncode or tuple(words[::2]) != tuple(NUMBERS):
        raise machine.Failure(f"{command[0].name} {loop} {server} on {backend}: {(done.stderr + done.stdout).strip()}")
    return dict(zip(words[::2], map(float, words[1::2])))


def run(chosen):
    columns = [f"{backend}, {server}" for backend in BACKENDS for server in SERVERS]
    runs = [{"round": number, "server": loop, "column": f"{backend}, {server}", **measure(backend, server, loop, chosen.build)}
            for number in range(chosen.rounds) for backend in BACKENDS for server in SERVERS for loop in LOOPS]
    return {"servers": list(LOOPS), "columns": columns, "rounds": chosen.rounds, "runs": runs}


def report(result):
    lines = ["", f"## Calls in a foreign loop: {CALLS:,} unary calls of 100 bytes, one after another; {result['rounds']} rounds,"
             " median (min to max)", "", *(f"- {name}: {what}" for name, what in SERVERS.items()), ""]
    for number, title in NUMBERS.items():
        lines += [row(title, result["columns"]), "|---" * (len(result["columns"]) + 1) + "|"]
        for loop in result["servers"]:
            lines.append(row(loop, [cell(result, loop, column, number) for column in result["columns"]]))
        lines.append("")
    return "\n".join(lines)


def cell(result, loop, column, number):
    text = spread(values(result, loop, column, number), lambda x: f"{x:.1f}")
    if loop == OWN:
        return text
    times = statistics.median(ratios(result, loop, OWN, column, number))
    return f"{text}; x {times:.2f}" + ("" if number == "cpu" else ", met" if times <= GOAL else ", not met")
