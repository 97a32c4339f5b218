"""How a healthy client fares beside an attacker: its latency, calm and attacked, round by round."""

import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from harness import attackers, machine, servers, unary
from harness.tables import spread, table, values

SECONDS = 2.0
GOAL = 3.0  # times the p99 of the same client with nobody else there
BOMBS = "bombs"  # attackers whose name begins so are allowed the cost of one message of the largest size on top
CALM = "calm"
HEALTHY = "4x1"  # connections x streams
RATE = 250  # requests per second on each connection
SETTLE_S = 0.5  # for what an attacker has left behind
KINDS = unary.KINDS[:2]


@contextlib.contextmanager
def attacked_by(name, port):
    """An attacker on the generators' core; what it says at its end, in the dictionary that is given."""
    said = {}
    if name == CALM:
        yield said
        return
    command = ["taskset", "-c", str(machine.cores()[1]), sys.executable, "-B", attackers.__file__, name, port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as attacker:
        try:
            if attacker.stdout.readline() != "attacking\n":
                raise machine.Failure(f"the attacker '{name}' does not begin")
            yield said
            if attacker.poll() is not None:
                raise machine.Failure(f"the attacker '{name}' gave up")
        finally:
            attacker.terminate()
            line = attacker.stdout.readline()
        said.update(json.loads(line))
    time.sleep(SETTLE_S)


def latencies_us(log):
    """Of every request, from h2load's own log."""
    rows = [line.split("\t") for line in log.read_text().splitlines()]
    if not rows or any(row[1] != "200" for row in rows):
        raise machine.Failure("the healthy client was not served")
    return [int(row[2]) for row in rows]


def measure(server, name, seconds, body, log):
    log.unlink(missing_ok=True)
    before = server.cpu_seconds()
    with attacked_by(name, server.port) as said:
        # The client shares the server's core, so that the attacker has one to itself, and goes before the server there, as
        # on a machine of its own: what it waits for is the server, not the scheduler.
        unary.load(server.address, HEALTHY, seconds, body, core=machine.cores()[0], before=["chrt", "--fifo", "1"],
                   more=[f"--rps={RATE}", f"--log-file={log}"])
        cpu = server.cpu_seconds() - before
    took = latencies_us(log)
    cuts = statistics.quantiles(took, n=100)
    return {"column": name, "requests": len(took), "p50_us": cuts[49], "p99_us": cuts[98], "max_us": max(took),
            "server_cpu_share": cpu / seconds, "peak_rss_kb": server.peak_rss_kb(), "attacker": said}


def run(chosen):
    seconds = chosen.seconds or SECONDS
    columns = [CALM, *attackers.KINDS]
    kinds = [kind for kind in KINDS if chosen.only in kind.name]
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        body, log = pathlib.Path(folder) / "body", pathlib.Path(folder) / "log"
        body.write_bytes(unary.BODY)
        for number in range(chosen.rounds):
            for kind in kinds:
                with servers.running(kind, chosen.build) as server:
                    worst = attackers.worst_messages(int(server.port))
                    worst_us = {name: s * 1e6 for name, (s, _) in worst.items()}
                    bytes_of = {name: size for name, (_, size) in worst.items()}
                    largest_us = max(worst_us.values())
                    for name in columns:
                        runs.append({"round": number, "server": kind.name, "largest_us": largest_us, "worst_us": worst_us,
                                     "bytes": bytes_of,
                                     **measure(server, name, seconds, body, log)})
    return {"servers": [kind.name for kind in kinds], "columns": columns, "seconds": seconds, "rounds": chosen.rounds,
            "runs": runs}


def worst_requests(runs):
    """Of each codec, the request that takes longest, and its time for each received byte."""
    times = {name: statistics.median(run["worst_us"][name] for run in runs) for name in runs[0]["worst_us"]}
    sizes = runs[0]["bytes"]
    for codec in dict.fromkeys(name.split(":")[0] for name in times):
        worst = max((name for name in times if name.startswith(codec + ":")), key=times.get)
        yield f"{worst}, {times[worst]:.0f}, {times[worst] / sizes[worst]:,.2f} a byte of {sizes[worst]:,}"


def report(result):
    kinds, columns = result["servers"], result["columns"]

    def of(what):
        return lambda server, column: spread(values(result, server, column, what), lambda us: f"{us:.0f}")

    def ratio(server, column):
        rows = zip(values(result, server, column, "p99_us"), values(result, server, CALM, "p99_us"),
                   values(result, server, CALM, "largest_us"))
        times = [(attacked - (largest if column.startswith(BOMBS) else 0)) / calm for attacked, calm, largest in rows]
        return spread(times, lambda x: f"{x:.2f}") + (", met" if statistics.median(times) <= GOAL else ", not met")

    def rss(server, column):
        return f"{statistics.median(values(result, server, column, 'peak_rss_kb')) / 1024:.1f}"

    lines = ["", f"## A healthy client of {HEALTHY} at {4 * RATE} requests/s beside an attacker; {result['rounds']} rounds of"
             f" {result['seconds']:g} s, median (min to max)", ""]
    lines += [*table("p50, us", kinds, columns, of("p50_us")), "", *table("p99, us", kinds, columns, of("p99_us")), ""]
    lines += [*table(f"p99 over calm p99, round by round (goal: at most {GOAL:g}; beside {BOMBS}: of what is above the cost of"
                     " one largest message)", kinds, columns[1:], ratio), ""]
    lines += [*table("one message of the largest size, us", kinds, [CALM], of("largest_us")), ""]
    lines += ["", "The worst request of each codec, us, and us for each of its bytes, median over the rounds:", ""]
    for kind in kinds:
        lines += [f"- {kind}: {worst}" for worst in worst_requests([run for run in result["runs"] if run["server"] == kind])]
    lines += [""]
    lines += [*table("peak RSS so far, MB", kinds, columns, rss)]
    return "\n".join(lines)
