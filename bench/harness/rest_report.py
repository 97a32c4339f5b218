"""Tables and charts of gRPC against REST: times by scenario, costs by server."""

import statistics

from harness.tables import row, table


def count(value):
    return f"{value:,.0f}"


def milliseconds(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def of_load(*path):
    """A figure of coracle load's, None where no call gave it."""
    def find(one):
        found = one["load"]
        for name in path:
            found = found and found[name]
        return found
    return find


# Title, where it is found, how it is shown: a table of these for each scenario.
TIMES = (
    ("ok", of_load("ok"), count),
    ("failed", of_load("failed"), count),
    ("mean", of_load("latency_ms", "mean"), milliseconds),
    ("p50", of_load("latency_ms", "p50"), milliseconds),
    ("p95", of_load("latency_ms", "p95"), milliseconds),
    ("p99", of_load("latency_ms", "p99"), milliseconds),
    ("max", of_load("latency_ms", "max"), milliseconds),
    ("connect p50", of_load("connects", "latency_ms", "p50"), milliseconds),
    ("connect p99", of_load("connects", "latency_ms", "p99"), milliseconds),
)
# A table for each of these, of all scenarios.
COSTS = (
    ("calls/s", of_load("rate_per_s"), count),
    ("server CPU, us/call", lambda one: one["us_per_call"], count),
    ("bytes on the wire, per call", lambda one: one["wire_bytes_per_call"], count),
    ("bytes of messages, per call", lambda one: one["message_bytes_per_call"], count),
    ("generator CPU, us/call", lambda one: one["generator_us_per_call"], count),
    ("server's memory at most, MB", lambda one: one["peak_rss_kb"] / 1024, count),
)
CHARTS = {
    "latency": (("latency, p50, ms", of_load("latency_ms", "p50")), ("latency, p99, ms", of_load("latency_ms", "p99")),
                ("to connect, p99, ms", of_load("connects", "latency_ms", "p99"))),
    "cost": tuple((title, find) for title, find, _ in COSTS[1:3]),
}


def median(result, server, column, find):
    known = [found for one in result["runs"] if (one["server"], one["column"]) == (server, column)
             if (found := find(one)) is not None]
    return statistics.median(known) if known else None


def failures(result, server, column):
    """By status, of all rounds, with what the first of them said."""
    for one in result["runs"]:
        if (one["server"], one["column"]) == (server, column):
            for status in one["load"]["statuses"]:
                if status["status"] != "OK":
                    yield f"{server}: {count(status['calls'])} x {status['status']} ({status['first']})"


def report(result):
    def cell(server, column, find, form):
        found = median(result, server, column, find)
        return "-" if found is None else form(found)

    rounds = "one round" if result["rounds"] == 1 else f"medians of {result['rounds']} rounds"
    lines = ["", f"## gRPC against REST, {rounds}"]
    for column in result["columns"]:
        lines += ["", f"{result['titles'][column]}; times in ms:", "", row("", [title for title, _, _ in TIMES])]
        lines.append("|---" * (len(TIMES) + 1) + "|")
        lines += [row(server, [cell(server, column, find, form) for _, find, form in TIMES]) for server in result["servers"]]
        failed = [one for server in result["servers"] for one in failures(result, server, column)]
        lines += ["", "Failed: " + "; ".join(failed) + "."] if failed else []
    for title, find, form in COSTS:
        lines += ["", *table(title, result["servers"], result["columns"], lambda server, column: cell(server, column, find, form))]
    others = [one["others_cores"] for one in result["runs"]]
    if others:
        lines += ["", f"Others on the machine had {statistics.median(others):.2f} cores meanwhile, {max(others):.2f} where it was most."]
    if result["notes"]:
        lines += ["", *result["notes"]]
    if result["failures"]:
        lines += ["", "Failed, and not in the tables:", "", *(f"- {one}" for one in result["failures"])]
    return "\n".join(lines)


def charts(result):
    """Name to panels for charts.write()."""
    for name, panels in CHARTS.items():
        yield name, [{"title": title, "labels": result["columns"],
                      "series": {server: [median(result, server, column, find) for column in result["columns"]]
                                 for server in result["servers"]}} for title, find in panels]
