"""Small operations of the runtime in nanoseconds, beside those of other runtimes; programs interleaved."""

import os
import statistics
import subprocess
import sys

from harness import machine, peers
from harness.tables import noise, row, spread, table, values

TIMEOUT_S = 120
GOALS = {"child": 10, "spawn_join": 60, "mutex": 5, "channel_one_task": 15, "channel_two_tasks": 25}
CROSS = "cross_loop"  # its goal is tokio
BETWEEN_THREADS = (CROSS,)  # these need both cores


class Program:
    def __init__(self, name, program, optional=None, only=(), **environment):
        self.name, self.program, self.optional, self.only, self.environment = name, program, optional, only, environment


KINDS = (
    Program("coracle, g++", "bin/bench_micro", CORACLE_BACKEND="io_uring"),
    Program("coracle, g++, epoll", "bin/bench_micro", only=("post_run", CROSS), CORACLE_BACKEND="epoll"),
    Program("coracle, clang", "../bench-clang/bin/bench_micro", optional="./dev build bench-clang bench_micro",
            CORACLE_BACKEND="io_uring"),
    Program("tokio", "peers/rust/target/release/micro_tokio"),
    Program("asio", "bin/bench_micro_asio"),
    Program("Go", "peers/go/micro"),
)
NAMES = ("child", "spawn_join", "spawn_join_queued", "mutex", "channel_one_task", "channel_two_tasks", CROSS, "post_run",
         "timer", "frame", "generator_step", "async_generator_step")


def lines_of(kind, names, build):
    """What it prints for those of the names that it knows: name to its median, least and most, in ns."""
    pin = [] if any(name in BETWEEN_THREADS for name in names) else ["taskset", "-c", str(machine.cores()[0])]
    try:
        done = subprocess.run([*pin, build / kind.program, *names], capture_output=True, text=True, timeout=TIMEOUT_S,
                              env={**os.environ, **kind.environment})
    except subprocess.TimeoutExpired:
        raise machine.Failure(f"{kind.name} took longer than {TIMEOUT_S} s") from None
    if done.returncode != 0:
        raise machine.Failure(f"{kind.name}: {done.stderr.strip()}")
    for line in done.stdout.splitlines():
        name, *figures = line.split()
        yield name, [float(figure) for figure in figures]


def measure(kind, build):
    wanted = [name for name in NAMES if not kind.only or name in kind.only]
    here = [name for name in wanted if name not in BETWEEN_THREADS]
    for names in (here, [name for name in wanted if name in BETWEEN_THREADS]):
        for name, (median, least, most) in lines_of(kind, names, build):
            yield {"server": kind.name, "column": name, "ns": median, "least_ns": least, "most_ns": most}


def run(chosen):
    kinds = [kind for kind in peers.chosen_among(KINDS, chosen)
             if not kind.optional or (chosen.build / kind.program).exists()]
    notes = [f"{kind.name} is left out; to have it: {kind.optional}"
             for kind in KINDS if kind.optional and not (chosen.build / kind.program).exists()]
    peers.build(kinds, chosen.build)
    runs = []
    for number in range(chosen.rounds):
        for kind in kinds:
            runs += [{"round": number, **one} for one in measure(kind, chosen.build)]
            if sys.stderr.isatty():
                print(f"round {number + 1} of {chosen.rounds}, {kind.name}", file=sys.stderr)
    measured = {one["column"] for one in runs}
    return {"servers": [kind.name for kind in kinds], "columns": [name for name in NAMES if name in measured],
            "rounds": chosen.rounds, "notes": notes, "runs": runs}


def goal(result, name):
    own = values(result, KINDS[0].name, name, "ns")
    peer = values(result, "tokio", CROSS, "ns")
    limit = GOALS.get(name) or (statistics.median(peer) if name == CROSS and peer else None)
    if limit is None or not own:
        return ""
    met = "met" if statistics.median(own) <= limit else "not met"
    return f"{'no slower than tokio' if name == CROSS else f'<= {limit}'}: {met}"


def report(result):
    names = result["servers"]
    form = lambda x: f"{x:,.0f}" if x >= 1000 else f"{x:.1f}"  # noqa: E731
    lines = ["", f"## Small operations, ns; {result['rounds']} rounds, median of their medians (least to most of these)", "",
             row("", [*names, "noise band", f"goal of {KINDS[0].name}"]), "|---" * (len(names) + 3) + "|"]
    for name in result["columns"]:
        cells = [spread(values(result, kind, name, "ns"), form) for kind in names]
        lines.append(row(name, [*cells, f"± {100 * noise(result, name, 'ns'):.0f} %", goal(result, name)]))

    def least(kind, name):
        of = values(result, kind, name, "least_ns")
        return form(min(of)) if of else "-"

    lines += ["", *table("the least of all timings, ns: on a busy machine nearer to the truth", result["columns"], names,
                         lambda name, kind: least(kind, name))]
    return "\n".join([*lines, "", *result["notes"]])
