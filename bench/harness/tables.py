"""Markdown tables over runs: medians with what they spread over, and differences that exceed the noise."""

import math
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
    return [r[what] for r in result["runs"] if r["server"] == server and r["column"] == column and what in r]


def distance(of):
    """How far the medians of the even and the odd rounds lie apart; infinite after one round."""
    if len(of) < 2:
        return math.inf
    even, odd = statistics.median(of[::2]), statistics.median(of[1::2])
    return abs(even - odd) / min(even, odd)


def noise(result, column, what="us_per_request"):
    """Each server against itself, at most."""
    every = (values(result, server, column, what) for server in result["servers"])
    return max((distance(of) for of in every if len(of) >= 2), default=0.0)


def ratios(result, server, peer, column, what="us_per_request"):
    """Round by round, since neighbours in time share the machine's mood."""
    def by_round(name):
        return {r["round"]: r[what] for r in result["runs"] if r["server"] == name and r["column"] == column}

    own, other = by_round(server), by_round(peer)
    return [own[number] / other[number] for number in own if number in other]


def exceeds(ratio, noise):
    """Whether two figures of this ratio differ by more than the noise, whichever is the larger one."""
    return ratio > 0 and max(ratio, 1 / ratio) > 1 + noise


def within(noise):
    return f"within ± {100 * noise:.0f} %" if math.isfinite(noise) else "noise unknown"


def nothing(title):
    return f"{title[0].upper()}{title[1:]}: no difference exceeds the noise."


def differences(title, names, columns, median, noise, form):
    """The first name's medians, and how many times that the others have, where the two differ by more than the noise. Rows and
    columns without such a difference are left out. median(name, column) is None for what was not measured, and noise(column) is
    a share, infinite where it was not measured."""
    reference, *others = names

    def ratio(name, column):
        own, other = median(reference, column), median(name, column)
        return other / own if own and other else None

    def differs(name, column):
        return (found := ratio(name, column)) is not None and exceeds(found, noise(column))

    def cell(name, column):
        if ratio(name, column) is None:
            return "-"
        return f"{form(median(name, column))} ({ratio(name, column):.2f} x)" if differs(name, column) else within(noise(column))

    shown = [column for column in columns if any(differs(name, column) for name in others)]
    if not shown:
        yield nothing(title)
        return
    yield row(title, shown)
    yield "|---" * (len(shown) + 1) + "|"
    yield row(reference, (form(median(reference, column)) for column in shown))
    for name in others:
        if any(differs(name, column) for column in shown):
            yield row(name, (cell(name, column) for column in shown))
    yield row("noise", (f"± {100 * noise(column):.0f} %" for column in shown))


def judged(title, names, columns, share, noise, goal=1):
    """Shares of the best peer: share(name, column) is (ratio, peer) or None. Rows of shares within the noise are left out."""
    def cell(name, column):
        found = share(name, column)
        if not found:
            return "-"
        ratio, peer = found
        if not exceeds(ratio, noise(column)):
            return within(noise(column))
        decided = exceeds(ratio / goal, noise(column))
        return f"{ratio:.2f} of {peer}: {('met' if ratio <= goal else 'not met') if decided else 'goal within the noise'}"

    def differs(name, column):
        return (found := share(name, column)) is not None and exceeds(found[0], noise(column))

    shown = [column for column in columns if any(differs(name, column) for name in names)]
    if shown:
        yield from table(f"{title} (goal: at most {goal})", [name for name in names if any(differs(name, column) for column in shown)],
                         shown, cell)
    else:
        yield nothing(title)
