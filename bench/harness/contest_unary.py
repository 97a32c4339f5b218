"""Unary calls: every server in turn, round by round, under the same loads of h2load and of bench_load."""

from harness import contest_rounds, contestants, counts, machine, unary
from harness.tables import nothing, table, within

PAYLOAD_COLUMN = "10x10"  # of all payloads but the smallest
LATENCY_SHARE = 0.5  # of a cell's time: the load of our own generator
GOAL = 1  # of the best peer's CPU
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
    ("p99, us (bench_load)", "own_p99_us", lambda x: f"{x:.0f}"),
    ("peak RSS, MB", "peak_rss_kb", lambda x: f"{x / 1024:.1f}"),
)


def is_peer(server):
    return not server.startswith("coracle") and server != contestants.FLOOR


def judged(group):
    """Ours without those that tell what one of our own ways costs: peers have handlers that return their replies by value."""
    return [server for server in group["servers"]
            if server.startswith("coracle") and not any(word in server for word in ("suspending", "in place"))]


def above_floor(group, median, noise):
    """Rows within the noise of what is allowed are left out."""
    def decided(server, column):
        floor, mine = median(contestants.FLOOR, column), median(server, column)
        if not floor or not mine:
            return None
        above, allowed = mine - floor, max(ABOVE_FLOOR_US, ABOVE_FLOOR_SHARE * floor)
        return (above, above <= allowed) if abs(above - allowed) > noise(column) * mine else None

    def cell(server, column):
        found = decided(server, column)
        return f"{found[0]:.2f}: {'met' if found[1] else 'not met'}" if found else within(noise(column))

    title = f"above the floor, us (goal: at most {ABOVE_FLOOR_US} or {ABOVE_FLOOR_SHARE:.0%} of it)"
    shown = [column for column in group["columns"] if any(decided(server, column) for server in judged(group))]
    if shown:
        yield from table(title, [server for server in judged(group) if any(decided(server, column) for column in shown)], shown, cell)
    else:
        yield nothing(title)


def allocations(group):
    """Exact, because they are counted."""
    def cell(server, column):
        of = [r["allocations_per_call"] for r in group["counts"] if r["server"] == server and r["column"] == column]
        return f"{of[0]:.2f}" if of and of[0] is not None else "n/a"

    known = [server for server in group["servers"] if any(cell(server, column) != "n/a" for column in group["columns"])]
    if known:
        yield from ("", *table("allocations per call (malloc and its kin)", known, group["columns"], cell))


def report_group(group, cores, rounds, seconds):
    yield from ("", f"## Unary, {group['security']}, {group['payload']}; connections x streams; {cores} core"
                f"{'s' if cores > 1 else ''} for the server; {rounds} rounds of {seconds:g} s", "")
    yield from contest_rounds.against_ours("server CPU, us/request", group)
    rivals = [server for server in group["servers"] if is_peer(server)]
    yield from ("", *contest_rounds.against_best_peer(group, judged(group), rivals, GOAL))
    if contestants.FLOOR in group["servers"]:
        yield from ("", *above_floor(group, contest_rounds.median(group, "us_per_request"), contest_rounds.band(group, "us_per_request")))
    if group["payload"] == "100 B":
        for title, what, form in FIGURES:
            yield from ("", *contest_rounds.against_ours(title, group, what, form))
        yield from allocations(group)


def report(result, rounds, seconds):
    for group in result["groups"]:
        yield from report_group(group, result["cores"], rounds, seconds)


def panels(result):
    """For charts.write(): of each security a panel with all columns and one with all payloads."""
    for title, what in (("server CPU, us/request", "us_per_request"), ("p99, us", "own_p99_us")):
        for security in dict.fromkeys(group["security"] for group in result["groups"]):
            groups = [group for group in result["groups"] if group["security"] == security]
            for part, wide in ((groups[:1], True), (groups[1:], False)):
                cells = [(group, column) for group in part for column in group["columns"]]
                names = dict.fromkeys(server for group in part for server in group["servers"])
                yield {"title": f"{title}, {security}: " + (f"{part[0]['payload']}, connections x streams" if wide else
                                                            f"payloads at {PAYLOAD_COLUMN}"),
                       "labels": [column if wide else group["payload"] for group, column in cells],
                       "series": {server: [contest_rounds.median(group, what)(server, column) for group, column in cells]
                                  for server in names}}
