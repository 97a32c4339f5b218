"""Streams both ways: every server in turn echoes the messages of bench_load's streams."""

import statistics

from harness import contestants, servers
from harness.tables import noise, row, spread, table, values

PATH = "/idle.Idle/Hold"
CELLS = {f"{column}, {window} on the way": (column, window) for column, window in
         (("1x1", 1), ("10x10", 1), ("1x1", 16), ("10x10", 16))}


def servers_needed(_):
    return [one for one in contestants.SERVERS if "streams" in one.can]


def measure(bench, one, cell):
    column, window = CELLS[cell]
    payload = bench.payloads["100 B"]  # a Msg of this text has the same bytes
    with servers.running(one, bench.build) as server:
        contestants.check(server, one, bench.build)
        load = bench.own_load(server, column, bench.seconds, payload.message, PATH, f"window={window}")
        return {"server": one.name, "column": cell, **load,
                "us_per_request": load["server_cpu_seconds"] * 1e6 / load["requests"]}


def run(chosen, kinds, bench, failures):
    runs = []
    for number in range(chosen.rounds):
        for cell in CELLS:
            for one in kinds:
                what = f"{one.name}, streams, {cell}"
                for measured in failures.attempt(what, lambda: measure(bench, one, cell)):
                    runs.append({"round": number, **measured})
                    bench.tell(number, what, f"{measured['us_per_request']:.2f} us")
    return {"servers": [one.name for one in kinds], "columns": list(CELLS), "runs": runs}


FIGURES = (
    ("messages/s", "requests_per_second", lambda x: f"{x:,.0f}"),
    ("p50, us", "p50_us", lambda x: f"{x:.0f}"),
    ("p99, us", "p99_us", lambda x: f"{x:.0f}"),
)


def report(result, rounds, seconds):
    names, columns = result["servers"], result["columns"]

    def figure(what, form):
        return lambda one, column: spread(values(result, one, column, what), form)

    yield from ("", "## Streams both ways, 100 B, each message echoed; connections x streams, messages on the way on each; "
                f"{rounds} rounds of {seconds:g} s, median (min to max)", "")
    yield from table("server CPU, us/message", names, columns, figure("us_per_request", lambda x: f"{x:.2f}"))
    yield row("noise band", (f"± {100 * noise(result, column):.1f} %" if rounds > 1 else "-" for column in columns))
    for title, what, form in FIGURES:
        yield from ("", *table(title, names, columns, figure(what, form)))


def panels(result):
    def of(one, column):
        found = values(result, one, column, "us_per_request")
        return statistics.median(found) if found else None

    yield {"title": "streams both ways: server CPU, us/message", "labels": result["columns"],
           "series": {one: [of(one, column) for column in result["columns"]] for one in result["servers"]}}
