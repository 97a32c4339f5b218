"""TCP echo in a closed loop: server CPU time per request, latency and evenness, servers interleaved."""

import json
import statistics
import subprocess
import sys

from harness import machine, peers, servers
from harness.tables import noise, ratios, row, spread, table, values

SECONDS = 1.0
PATIENCE_S = 60  # beyond the load's own length: connecting, and the last replies
BUFFER = "32768"  # bytes; larger than every request, so that a read takes one whole
GOAL = 1.05  # of the CPU of raw C over the same interface of the kernel
RAW = {"coracle io_uring": "C io_uring", "coracle epoll": "C epoll"}
RUST = "peers/rust/target/release/"
KINDS = (
    servers.Kind("coracle io_uring", "bin/bench_echo", BUFFER, CORACLE_BACKEND="io_uring"),
    servers.Kind("C io_uring", "bin/bench_echo_uring", "16384"),
    servers.Kind("coracle epoll", "bin/bench_echo", BUFFER, CORACLE_BACKEND="epoll"),
    servers.Kind("C epoll", "bin/bench_echo_epoll", BUFFER),
    servers.Kind("tokio", RUST + "echo_tokio", BUFFER),
    servers.Kind("monoio", RUST + "echo_monoio", BUFFER),
    servers.Kind("asio", "bin/bench_echo_asio", BUFFER),
    servers.Kind("Go", "peers/go/echo", BUFFER),
)


def column_name(size, connections):
    return f"{size} B x {connections}"


def load(server, size, connections, seconds, build):
    """What bench_echo_load counted, and the server's CPU time meanwhile."""
    command = ["timeout", str(seconds + PATIENCE_S), "taskset", "-c", str(machine.cores()[1]),
               build / "bin/bench_echo_load", server.port, str(connections), str(size), str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as client:
        try:
            if client.stdout.readline() != "ready\n":
                raise machine.Failure(client.stderr.read().strip() or "it does not answer every connection")
            before = server.cpu_seconds()
            client.stdin.write("go\n")
            client.stdin.flush()
            line = client.stdout.readline()
            cpu = server.cpu_seconds() - before
            if not line:
                raise machine.Failure(client.stderr.read().strip() or "the load does not end")
            client.stdin.close()  # lets it go
            return json.loads(line), cpu
        except BaseException:
            client.terminate()
            raise


def measure(kind, size, connections, seconds, build):
    column = column_name(size, connections)
    with servers.running(kind, build) as server:
        try:
            counted, cpu = load(server, size, connections, seconds, build)
        except machine.Failure as failure:
            raise machine.Failure(f"{kind.name}, {column}: {failure}") from None
        if counted["lost"]:
            raise machine.Failure(f"{kind.name}, {column}: {counted['lost']} requests were not answered")
        least, most = counted["least_per_connection"], counted["most_per_connection"]
        return {"server": kind.name, "column": column, "size": size, "connections": connections, **counted,
                "cpu_seconds": cpu, "us_per_request": cpu * 1e6 / counted["requests"],
                "evenness": least / most if most else 0, "peak_rss_kb": server.peak_rss_kb()}


def run(chosen):
    kinds = peers.chosen_among(KINDS, chosen)
    peers.build(kinds, chosen.build)
    cells = [(int(size), int(n)) for size in chosen.sizes.split(",") for n in chosen.connections.split(",")]
    seconds = chosen.seconds or SECONDS
    runs = []
    for number in range(chosen.rounds):
        for size, connections in cells:
            for kind in kinds:
                runs.append({"round": number, **measure(kind, size, connections, seconds, chosen.build)})
                if sys.stderr.isatty():
                    print(f"round {number + 1} of {chosen.rounds}, {runs[-1]['column']}, {kind.name}: "
                          f"{runs[-1]['us_per_request']:.2f} us", file=sys.stderr)
    return {"servers": [kind.name for kind in kinds], "columns": [column_name(*cell) for cell in cells],
            "seconds": seconds, "rounds": chosen.rounds, "runs": runs}


TABLES = (
    ("server CPU, us/request", "us_per_request", lambda x: f"{x:.2f}"),
    ("1,000 requests/s", "requests_per_second", lambda x: f"{x / 1000:.1f}"),
    ("p50, us", "p50_us", lambda x: f"{x:.0f}"),
    ("p99, us", "p99_us", lambda x: f"{x:.0f}"),
    ("fewest over most requests of a connection", "evenness", lambda x: f"{x:.2f}"),
    ("peak RSS, MB", "peak_rss_kb", lambda x: f"{x / 1024:.1f}"),
)


def against_raw(result):
    """Ours beside raw C over the same interface, round by round."""
    judged = {own: raw for own, raw in RAW.items() if own in result["servers"] and raw in result["servers"]}

    def cell(server, column):
        of = ratios(result, server, judged[server], column)
        return spread(of, lambda x: f"{x:.3f}") + (", met" if statistics.median(of) <= GOAL else ", not met")

    yield from table(f"share of raw C's CPU, round by round (goal: at most {GOAL})", judged, result["columns"], cell)


def by_size(result):
    for size in dict.fromkeys(r["size"] for r in result["runs"]):
        columns = [column for column in result["columns"] if column.startswith(f"{size} B ")]
        yield {**result, "columns": columns, "size": size}


def report(result):
    lines = ["", f"## TCP echo, closed loop; {result['rounds']} rounds of {result['seconds']:g} s, median (min to max)"]
    for part in by_size(result):
        columns = part["columns"]
        for title, what, form in TABLES:
            lines += ["", *table(title, part["servers"], columns,
                                 lambda server, column: spread(values(part, server, column, what), form))]
            if what == "us_per_request":
                lines.append(row("noise band", (f"± {100 * noise(part, column):.1f} %" for column in columns)))
                lines += ["", *against_raw(part)]
    return "\n".join(lines)


def panels(result):
    """For charts.write()."""
    for part in by_size(result):
        labels = [column.split(" x ")[1] for column in part["columns"]]
        for title, what, _ in TABLES[:4]:
            series = {server: [statistics.median(values(part, server, column, what)) for column in part["columns"]]
                      for server in part["servers"]}
            yield {"title": f"{part['size']} B: {title}, by connections", "labels": labels, "series": series, "logarithmic": False}
