"""Unary echo of 100 bytes: server CPU time per request under h2load, servers interleaved."""

import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

from harness import machine, servers
from harness.tables import noise, ratios, row, spread, table, values

PEER = "grpc++ completion queue"
SECONDS = 3.0
PATIENCE_S = 60
GOAL = 0.5  # of the peer's CPU per request
NAME = bytes(ord("a") + i % 26 for i in range(100))
MESSAGE = b"\x0a" + bytes([len(NAME)]) + NAME  # field 1; the reply has the same bytes
BODY = b"\0" + len(MESSAGE).to_bytes(4, "big") + MESSAGE
PATH = "/helloworld.Greeter/SayHello"
FIELDS = ("content-type: application/grpc", "te: trailers")
FLOOR = "floor (no gRPC)"
KINDS = (
    servers.Kind("coracle io_uring", "bin/bench_greeter", CORACLE_BACKEND="io_uring"),
    servers.Kind("coracle epoll", "bin/bench_greeter", CORACLE_BACKEND="epoll"),
    servers.Kind(PEER, "bin/bench_grpcpp_greeter"),
    servers.Kind(FLOOR, "bin/bench_floor"),
)


def children_seconds():
    """CPU time of all children that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def load(address, column, seconds, body, core=None, more=(), before=(), scheme="http", path=PATH, requests=None, fields=FIELDS,
         reply_bytes=None):
    """h2load's counts, of which every request must have been answered in full, by `reply_bytes`, or else as many bytes as its
    own. body: a file, or None for GET. core: the generators', unless told; before: what stands before h2load's own command;
    requests: so many, in place of a time; fields: of the request."""
    connections, streams = (int(n) for n in column.split("x"))
    core = machine.cores()[1] if core is None else core
    length = f"-n{requests}" if requests else f"-D{round(seconds * 1000)}ms"
    command = ["taskset", "-c", str(core), *before, "h2load", *more, f"-c{connections}", f"-m{streams}", length,
               *(["-d", body] if body else []), *(word for field in fields for word in ("-H", field)), f"{scheme}://{address}{path}"]
    size = pathlib.Path(body).stat().st_size if reply_bytes is None else reply_bytes
    cpu_before = children_seconds()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + PATIENCE_S)
    except subprocess.TimeoutExpired:
        raise machine.Failure(f"{address} did not end the load of {column}") from None
    text = done.stdout
    if done.returncode != 0 or "finished in" not in text:
        raise machine.Failure(f"h2load failed: {done.stderr.strip() or text}")
    counts = {name: int(n) for n, name in
              re.findall(r"(\d+) (succeeded|failed|errored|timeout|2xx)", text)}
    answered = counts.get("succeeded", 0)
    data_bytes = int(re.search(r"\((\d+)\) data", text)[1])
    wrong = sum(counts.get(name, 0) for name in ("failed", "errored", "timeout"))
    # An error of gRPC is an HTTP 200 without a message: the bytes of DATA tell. What came of replies that were
    # on their way at the end is counted, their requests are not.
    under_way = connections * streams
    whole = size * answered <= data_bytes <= size * (answered + under_way)
    if answered == 0 or wrong or not answered <= counts.get("2xx", 0) <= answered + under_way or not whole:
        raise machine.Failure(f"{address} did not answer every request:\n{text}")
    rate = float(re.search(r"([\d.]+) req/s", text)[1])
    return {"answered": answered, "requests_per_second": rate, "generator_cpu_seconds": children_seconds() - cpu_before}


def check(server, kind, build):
    """Whether replies are right, byte for byte, with grpc-status 0."""
    if kind.name == FLOOR:
        return
    done = subprocess.run([build / "bin/bench_check", server.address], capture_output=True, text=True)
    if done.returncode != 0:
        raise machine.Failure(f"{kind.name} answers wrong: {done.stderr.strip()}")


def measure(kind, column, chosen, body):
    with servers.running(kind, chosen.build) as server:
        check(server, kind, chosen.build)
        before = server.cpu_seconds()
        counted = load(server.address, column, chosen.seconds or SECONDS, body)
        cpu = server.cpu_seconds() - before
        return {"server": kind.name, "column": column, **counted, "cpu_seconds": round(cpu, 4),
                "us_per_request": cpu * 1e6 / counted["answered"], "peak_rss_kb": server.peak_rss_kb()}


def available(chosen):
    """The servers that can be measured here; says why others are left out."""
    kinds, notes = [], []
    for kind in KINDS:
        if chosen.only not in kind.name:
            continue
        if not (chosen.build / kind.program).exists():
            notes.append(f"{kind.name} is left out: {kind.program} was not built")
            continue
        try:
            with servers.running(kind, chosen.build):
                kinds.append(kind)
        except machine.Failure as failure:
            notes.append(f"{kind.name} is left out: {failure}")
    return kinds, notes


def run(chosen):
    for program in ("h2load", "taskset"):
        if not shutil.which(program):
            raise machine.Failure(f"there is no {program}; fix: apt-get install nghttp2-client util-linux")
    kinds, notes = available(chosen)
    columns = chosen.columns.split(",")
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        body = pathlib.Path(folder) / "body"
        body.write_bytes(BODY)
        for number in range(chosen.rounds):
            for column in columns:
                for kind in kinds:
                    runs.append({"round": number, **measure(kind, column, chosen, body)})
                    if sys.stderr.isatty():
                        print(f"round {number + 1} of {chosen.rounds}, {column}, {kind.name}: "
                              f"{runs[-1]['us_per_request']:.2f} us", file=sys.stderr)
    return {"servers": [kind.name for kind in kinds], "columns": columns, "seconds": chosen.seconds or SECONDS,
            "rounds": chosen.rounds, "notes": notes, "runs": runs}


def report(result):
    kinds, columns = result["servers"], result["columns"]

    def us(server, column):
        return spread(values(result, server, column, "us_per_request"), lambda x: f"{x:.2f}")

    def rate(server, column):
        return spread(values(result, server, column, "requests_per_second"), lambda x: f"{x / 1000:.1f}")

    def rss(server, column):
        return f"{statistics.median(values(result, server, column, 'peak_rss_kb')) / 1024:.1f}"

    def ratio(server, column):
        of = ratios(result, server, PEER, column)
        judged = server.startswith("coracle")
        verdict = f", {'met' if statistics.median(of) <= GOAL else 'not met'}" if judged else ""
        return spread(of, lambda x: f"{x:.3f}") + verdict

    lines = ["", f"## Unary echo of 100 bytes, connections x streams; {result['rounds']} rounds of {result['seconds']:g} s,"
             " median (min to max)", ""]
    lines += table("server CPU, us/request", kinds, columns, us)
    lines.append(row("noise band", (f"± {100 * noise(result, column):.1f} %" for column in columns)))
    if PEER in kinds:
        lines += ["", *table(f"share of grpc++'s CPU, round by round (goal: at most {GOAL})",
                             kinds, columns, ratio)]
    lines += ["", *table("1,000 requests/s", kinds, columns, rate)]
    lines += ["", *table("peak RSS, MB", kinds, columns, rss), "", *result["notes"]]
    return "\n".join(lines)
