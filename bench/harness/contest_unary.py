"""Unary calls: every server in turn, round by round, under the same loads of h2load and of bench_load."""

import math
import statistics

from harness import contest_rounds, contestants, counts, machine, unary
from harness.tables import noise, ratios, spread, table, values

PAYLOAD_COLUMN = "10x10"  # of all payloads but the smallest
LATENCY_SHARE = 0.5  # of a cell's time: the load of our own generator
GOAL_GENERATOR = 1.5  # calls per CPU second of bench_load over those of h2load
ABOVE_FLOOR_US, ABOVE_FLOOR_SHARE = 0.35, 0.1


def measure(bench, one, group, column):
    payload = bench.payloads[group["payload"]]
    more, certificate, scheme = bench.security(group["security"])
    with bench.running(one, more) as server:
        contestants.check(server, one, bench.build, certificate)
        before = server.cpu_seconds()
        counted = unary.load(server.address, column, bench.seconds, payload.enveloped, scheme=scheme, path=payload.path)
        cpu = server.cpu_seconds() - before
        result = {"server": one.name, "column": column, **counted, "cpu_seconds": cpu,
                  "us_per_request": cpu * 1e6 / counted["answered"],
                  "generator_calls_per_cpu_second": counted["answered"] / counted["generator_cpu_seconds"]}
        if one.name != contestants.FLOOR:  # which answers h2load alone
            server.settle()
            try:
                result["own_load"] = bench.own_load(server, column, bench.seconds * LATENCY_SHARE, payload.message,
                                                    payload.path, certificate=certificate)
            except machine.Failure as failure:
                result["own_failure"] = str(failure)
        return {**result, "peak_rss_kb": server.peak_rss_kb()}


def count(bench, one, group, column):
    more, _, scheme = bench.security(group["security"])
    payload = bench.payloads[group["payload"]]
    return {"server": one.name, "column": column,
            **counts.count(bench, one, more, column, payload, scheme)}


def flatten(run):
    """What bench_load measured stands beside the rest, for the tables."""
    own = run.get("own_load")
    if own:
        for name in ("min_us", "mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "requests_per_second"):
            run[f"own_{name}"] = own[name]
        run["own_calls_per_cpu_second"] = own["requests"] / own["cpu_seconds"]
        run["generators"] = run["own_calls_per_cpu_second"] / run["generator_calls_per_cpu_second"]
        run["own_cpu_share"] = own["server_cpu_seconds"] / own["seconds"]
        run["own_us_per_request"] = own["server_cpu_seconds"] * 1e6 / own["requests"]
    return run


def groups_of(chosen):
    columns = chosen.columns.split(",")
    for security in ("plaintext", "TLS") if chosen.tls else ("plaintext",):
        for payload in (*contestants.NAMES, contestants.ORDER):
            yield {"security": security, "payload": payload, "columns": columns if payload == "100 B" else [PAYLOAD_COLUMN],
                   "runs": [], "counts": []}


def servers_needed(_):
    return contestants.SERVERS


def run(chosen, kinds, bench, failures):
    groups = list(groups_of(chosen))
    if bench.with_perf:
        counts.require_perf()
    cells = [(group, column, one) for group in groups for column in group["columns"] for one in kinds
             if contestants.takes_part(one, group["security"], group["payload"])]
    for number in range(chosen.rounds):
        for group, column, one in cells:
            what = f"{one.name}, {group['security']}, {group['payload']}, {column}"
            for measured in failures.attempt(what, lambda: measure(bench, one, group, column)):
                failures.note(f"{what}, under bench_load", measured.pop("own_failure", None))
                group["runs"].append({"round": number, **flatten(measured)})
                bench.tell(number, what, f"{measured['us_per_request']:.2f} us")
    for group, column, one in cells:
        what = f"{one.name}, {group['security']}, {group['payload']}, {column}, counting"
        group["counts"] += failures.attempt(what, lambda: count(bench, one, group, column))
    for group in groups:
        group["servers"] = [one.name for one in kinds if any(r["server"] == one.name for r in group["runs"])]
    return {"groups": groups, "cores": chosen.cores}


FIGURES = (
    ("1,000 requests/s (h2load)", "requests_per_second", lambda x: f"{x / 1000:.1f}"),
    ("p50, us (bench_load)", "own_p50_us", lambda x: f"{x:.0f}"),
    ("p99, us (bench_load)", "own_p99_us", lambda x: f"{x:.0f}"),
    ("server CPU under bench_load, us/request", "own_us_per_request", lambda x: f"{x:.2f}"),
    ("peak RSS, MB", "peak_rss_kb", lambda x: f"{x / 1024:.1f}"),
)
COUNTS = (("system calls per call", "syscalls_per_call"), ("allocations per call (malloc and its kin)", "allocations_per_call"))
GRPC_BENCH = (
    ("requests/s", "own_requests_per_second", lambda x: f"{x:,.0f}"),
    ("mean, us", "own_mean_us", lambda x: f"{x:.0f}"),
    ("90 %", "own_p90_us", lambda x: f"{x:.0f}"),
    ("95 %", "own_p95_us", lambda x: f"{x:.0f}"),
    ("99 %", "own_p99_us", lambda x: f"{x:.0f}"),
    ("CPU", "own_cpu_share", lambda x: f"{100 * x:.0f} %"),
    ("memory, MB", "peak_rss_kb", lambda x: f"{x / 1024:.1f}"),
)


def known(group, server, column, what):
    return [r[what] for r in group["runs"] if r["server"] == server and r["column"] == column and what in r]


def median(group, server, column):
    of = values(group, server, column, "us_per_request")
    return statistics.median(of) if of else float("inf")


def is_peer(server):
    return not server.startswith("coracle") and server != contestants.FLOOR


def best_peer(group, column):
    rivals = [server for server in group["servers"] if is_peer(server) and values(group, server, column, "us_per_request")]
    return min(rivals, key=lambda server: median(group, server, column), default=None)


def judged(group):
    """Ours without those that tell what one of our own ways costs: peers have handlers that return their replies by value."""
    return [server for server in group["servers"]
            if server.startswith("coracle") and not any(word in server for word in ("suspending", "in place"))]


def against_peers(group):
    """Ours over the best peer of each cell; within the noise band it is a tie."""
    own = judged(group)

    def cell(server, column):
        best = best_peer(group, column)
        if not best or not values(group, server, column, "us_per_request"):
            return "-"
        of = ratios(group, server, best, column)
        if not of:
            return "-"
        over = statistics.median(of) - 1
        verdict = "met" if over <= 0 else "tie" if over <= noise(group, column) else "not met"
        return f"{spread(of, lambda x: f'{x:.2f}')} of {best}: {verdict}"

    yield from table("share of the best peer's CPU, round by round (goal: at most 1)", own, group["columns"], cell)


def above_floor(group):
    own = judged(group)

    def cell(server, column):
        floor, mine = median(group, contestants.FLOOR, column), median(group, server, column)
        if not math.isfinite(floor + mine):
            return "-"
        allowed = max(ABOVE_FLOOR_US, ABOVE_FLOOR_SHARE * floor)
        above = mine - floor
        verdict = "met" if above <= allowed else "tie" if above <= allowed + noise(group, column) * mine else "not met"
        return f"{above:.2f}: {verdict}"

    yield from table(f"above the floor, us (goal: at most {ABOVE_FLOOR_US} or {ABOVE_FLOOR_SHARE:.0%} of it)", own,
                     group["columns"], cell)


def counted(group, what):
    def cell(server, column):
        of = [r[what] for r in group["counts"] if r["server"] == server and r["column"] == column]
        return f"{of[0]:.2f}" if of and of[0] is not None else "n/a"
    return cell


def generators(group):
    """Calls per CPU second of each generator, both in the same cell."""
    def cell(server, column):
        return spread(known(group, server, column, "generators"), lambda x: f"{x:.2f}")

    own = [server for server in group["servers"] if server.startswith("coracle")]
    yield from table(f"calls per CPU second of bench_load over h2load's (goal: {GOAL_GENERATOR})", own, group["columns"], cell)


def report_group(group, cores, rounds, seconds):
    names, columns = group["servers"], group["columns"]

    def figure(what, form):
        return lambda server, column: spread(known(group, server, column, what), form)

    yield from ("", f"## Unary, {group['security']}, {group['payload']}; connections x streams; {cores} core"
                f"{'s' if cores > 1 else ''} for the server; {rounds} rounds of {seconds:g} s, median (min to max)", "")
    yield from table("server CPU, us/request", names, columns, figure("us_per_request", lambda x: f"{x:.2f}"))
    yield contest_rounds.noise_row(group)
    yield from ("", *against_peers(group))
    if contestants.FLOOR in names:
        yield from ("", *above_floor(group))
    for title, what, form in FIGURES:
        yield from ("", *table(title, names, columns, figure(what, form)))
    for title, what in COUNTS:
        yield from ("", *table(title, names, columns, counted(group, what)))
    if group["payload"] == "100 B":
        yield from ("", *generators(group), "", *alone(group))
    served = [name for name in names if name != contestants.FLOOR]
    cell = PAYLOAD_COLUMN if PAYLOAD_COLUMN in columns else columns[-1]
    of = {title: (what, form) for title, what, form in GRPC_BENCH}
    yield from ("", *table(f"grpc_bench's columns, at {cell}, {cores} core{'s' if cores > 1 else ''}", served, list(of),
                           lambda server, title: spread(known(group, server, cell, of[title][0]), of[title][1])))


def alone(group):
    """Our own client and server, one loop each, beside what cpp20coroutine-protobuf-rpc says of itself."""
    def cell(server, column):
        rates, least = known(group, server, column, "own_requests_per_second"), known(group, server, column, "own_min_us")
        return f"{statistics.median(rates):,.0f}; {min(least):.0f} us" if rates else "-"

    own = [server for server in group["servers"] if server.startswith("coracle")]
    yield from table("our client and server alone: requests/s; least latency (cpp20coroutine-protobuf-rpc reports 216,000; 50 us)",
                     own, group["columns"], cell)


def report(result, rounds, seconds):
    for group in result["groups"]:
        yield from report_group(group, result["cores"], rounds, seconds)


def panels(result):
    """For charts.write(): of each security a panel with all columns and one with all payloads."""
    def of(group, server, column, what):
        found = known(group, server, column, what)
        return statistics.median(found) if found else None

    for title, what in (("server CPU, us/request", "us_per_request"), ("p99, us", "own_p99_us")):
        for security in dict.fromkeys(group["security"] for group in result["groups"]):
            groups = [group for group in result["groups"] if group["security"] == security]
            for part, wide in ((groups[:1], True), (groups[1:], False)):
                cells = [(group, column) for group in part for column in group["columns"]]
                names = dict.fromkeys(server for group in part for server in group["servers"])
                yield {"title": f"{title}, {security}: " + (f"{part[0]['payload']}, connections x streams" if wide else
                                                            f"payloads at {PAYLOAD_COLUMN}"),
                       "labels": [column if wide else group["payload"] for group, column in cells],
                       "series": {server: [of(group, server, column, what) for group, column in cells] for server in names}}
