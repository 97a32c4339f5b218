"""What scenarios with one table of CPU times have in common: the rounds, interleaved, and the chart."""

import math
import statistics

from harness.tables import differences, judged, noise, ratios, values


def run(name, columns, measure, kinds, bench, failures):
    """Every contestant in turn in each column, round by round."""
    runs = []
    for number in range(bench.rounds):
        for column in columns:
            for one in kinds:
                what = f"{one.name}, {name}{column}"
                for measured in failures.attempt(what, lambda: measure(bench, one, column)):
                    runs.append({"round": number, **measured})
                    bench.tell(number, what, f"{measured['us_per_request']:.2f} us")
    return {"servers": [one.name for one in kinds], "columns": list(columns), "runs": runs}


def median(result, what):
    def of(one, column):
        found = values(result, one, column, what)
        return statistics.median(found) if found else None

    return of


def band(result, what):
    """The noise of a column; infinite after one round, which measures none."""
    several = any(r["round"] > 0 for r in result["runs"])
    return lambda column: noise(result, column, what) if several else math.inf


def against_ours(title, result, what="us_per_request", form=lambda x: f"{x:,.2f}"):
    """Every contestant beside the first of ours, where the difference exceeds the noise."""
    yield from differences(title, result["servers"], result["columns"], median(result, what), band(result, what), form)


def best_peer(result, column, rivals):
    of = median(result, "us_per_request")
    return min((one for one in rivals if of(one, column)), key=lambda one: of(one, column), default=None)


def against_best_peer(result, own, rivals, goal):
    """Of the best peer's CPU, round by round."""
    def share(one, column):
        best = best_peer(result, column, rivals)
        of = ratios(result, one, best, column) if best else None
        return (statistics.median(of), best) if of else None

    yield from judged("share of the best peer's CPU", own, result["columns"], share, band(result, "us_per_request"), goal)


def cpu_panel(title, result):
    of = median(result, "us_per_request")
    return {"title": title, "labels": result["columns"],
            "series": {one: [of(one, column) for column in result["columns"]] for one in result["servers"]}}
