"""What scenarios with one table of CPU times have in common: the rounds, interleaved, and the chart."""

import statistics

from harness.tables import noise, row, spread, table, values


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


def figure(result, what, form):
    return lambda one, column: spread(values(result, one, column, what), form)


def cpu_table(title, result):
    columns = result["columns"]
    yield from table(title, result["servers"], columns, figure(result, "us_per_request", lambda x: f"{x:,.2f}"))
    yield noise_row(result)


def noise_row(result):
    several = any(r["round"] > 0 for r in result["runs"])
    return row("noise band", (f"± {100 * noise(result, column):.1f} %" if several else "-" for column in result["columns"]))


def cpu_panel(title, result):
    def of(one, column):
        found = values(result, one, column, "us_per_request")
        return statistics.median(found) if found else None

    return {"title": title, "labels": result["columns"],
            "series": {one: [of(one, column) for column in result["columns"]] for one in result["servers"]}}
