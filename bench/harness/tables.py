"""Markdown tables over runs: medians with what they spread over."""

import statistics


def row(name, cells):
    return "| " + " | ".join([name, *cells]) + " |"


def table(title, rows, columns, cell):
    yield row(title, columns)
    yield "|---" * (len(columns) + 1) + "|"
    for name in rows:
        yield row(name, (cell(name, column) for column in columns))


def spread(of, form):
    if len(of) < 2:
        return form(of[0]) if of else "-"
    return f"{form(statistics.median(of))} ({form(min(of))} to {form(max(of))})"


def values(result, server, column, what):
    """Of each round, in order."""
    return [r[what] for r in result["runs"] if r["server"] == server and r["column"] == column]


def noise(result, column, what="us_per_request"):
    """Each server against itself: how far the medians of its even and its odd rounds lie apart, at most."""
    apart = [0.0]
    for server in result["servers"]:
        of = values(result, server, column, what)
        if len(of) >= 2:
            even, odd = statistics.median(of[::2]), statistics.median(of[1::2])
            apart.append(abs(even - odd) / min(even, odd))
    return max(apart)


def ratios(result, server, peer, column, what="us_per_request"):
    """Round by round, since neighbours in time share the machine's mood."""
    def by_round(name):
        return {r["round"]: r[what] for r in result["runs"] if r["server"] == name and r["column"] == column}

    own, other = by_round(server), by_round(peer)
    return [own[number] / other[number] for number in own if number in other]
