"""Streams both ways: every server in turn echoes the messages of bench_load's streams."""

from harness import contest_rounds, contestants, servers

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


def run(_, kinds, bench, failures):
    return contest_rounds.run("streams, ", CELLS, measure, kinds, bench, failures)


def report(result, rounds, seconds):
    yield from ("", "## Streams both ways, 100 B, each message echoed; connections x streams, messages on the way on each; "
                f"{rounds} rounds of {seconds:g} s", "")
    yield from contest_rounds.against_ours("server CPU, us/message", result)
    yield from ("", *contest_rounds.against_ours("p99, us", result, "p99_us", lambda x: f"{x:.0f}"))


def panels(result):
    yield contest_rounds.cpu_panel("streams both ways: server CPU, us/message", result)
