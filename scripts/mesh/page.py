"""The page with the summary: one file, without scripts."""

import collections
import html
import math

WIDTH, HEIGHT, LEFT, BELOW = 1100, 300, 60, 30
BIN_S = 0.5
COLORS = ("#2f6fde", "#7aa7f0", "#1f9d63", "#7ed0a8", "#c2559d", "#e0a5cd", "#d9a514", "#9a6be0")
FAILED = "#d13b4b"
METRICS = ("grpc_xds_client_connected", "grpc_xds_client_resource_updates_valid_total", "grpc_xds_client_resource_updates_invalid_total",
           "grpc_xds_client_resources", "grpc_lb_outlier_detection_ejections_enforced_total")
STYLE = """
:root { --page: #f6f7f9; --card: #fff; --text: #1c2430; --faint: #5d6b7e; --line: #dde2ea; --good: #12764a; --bad: #c22c3c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #12161c; --card: #1a2029; --text: #e6eaf0; --faint: #97a3b4; --line: #2c3542; --good: #37c884; --bad: #f0606f; }
}
body { margin: 0 auto; padding: 24px 16px; max-width: 1180px; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
section { margin: 0 0 16px; padding: 16px; overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
h1 { font-size: 1.6rem; } h2 { margin: 0 0 8px; font-size: 1.05rem; } p { color: var(--faint); }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 4px 8px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
.kept { color: var(--good); } .broken { color: var(--bad); font-weight: 600; }
svg { width: 100%; height: auto; } svg text { fill: var(--faint); font-size: 12px; } svg line { stroke: var(--line); }
.key { display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 16px; border-radius: 3px; }
"""


def table(heads, rows):
    """Cells are texts, or pairs of a class and a text."""
    def cell(of):
        kind, text = of if isinstance(of, tuple) else ("", of)
        return f'<td class="{kind}">{html.escape(str(text))}</td>'
    return ("<table><thead><tr>" + "".join(f"<th>{html.escape(one)}</th>" for one in heads) + "</tr></thead><tbody>"
            + "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows) + "</tbody></table>")


def bins_of(story):
    """The answers to all callers, by time: those of a sample are spread over the time since the one before."""
    bins = collections.defaultdict(collections.Counter)
    for caller in story.callers:
        begin = caller.began
        for end, answers in caller.samples:
            first, last = (int((time - story.began) / BIN_S) for time in (begin, end))
            for at in range(first, last + 1):
                inside = min(end, story.began + (at + 1) * BIN_S) - max(begin, story.began + at * BIN_S)
                for answer, times in answers.items():
                    bins[at][answer] += times * inside / (end - begin)
            begin = end
    return bins


def chart(story):
    """Calls per second by the server that answered, stacked."""
    bins = bins_of(story)
    kinds = sorted({answer for answers in bins.values() for answer in answers}, key=lambda answer: ("/" not in answer, answer))
    colors = {kind: COLORS[i % len(COLORS)] if "/" in kind else FAILED for i, kind in enumerate(kinds)}
    last, top = max(bins) + 1, max(answers.total() for answers in bins.values()) * 1.05
    wide = (WIDTH - LEFT) / last

    def y(calls):
        return (HEIGHT - BELOW) * (1 - calls / top)

    drawn = []
    for at, answers in bins.items():
        below = 0
        for kind in kinds:
            if answers[kind]:
                drawn.append(f'<rect x="{LEFT + at * wide:.1f}" width="{wide + 0.2:.1f}" y="{y(below + answers[kind]):.1f}" '
                             f'height="{y(below) - y(below + answers[kind]):.1f}" fill="{colors[kind]}"/>')
            below += answers[kind]
    scale = 10 ** int(math.log10(top / BIN_S)) / 2
    for rate in (scale * i for i in range(1, int(top / BIN_S / scale) + 1)):
        drawn.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(rate * BIN_S):.1f}" y2="{y(rate * BIN_S):.1f}"/>'
                     f'<text x="{LEFT - 6}" y="{y(rate * BIN_S) + 4:.1f}" text-anchor="end">{rate:.0f}/s</text>')
    for i, (seconds, _, _) in enumerate(story.steps, 1):
        x = LEFT + seconds / BIN_S * wide
        drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT - BELOW}" stroke-dasharray="3 3"/>'
                     f'<text x="{x:.1f}" y="{HEIGHT - 16 + 14 * (i % 2)}">{i}</text>')
    keys = "".join(f'<span class="key" style="background:{color}"></span>{html.escape(kind)}' for kind, color in colors.items())
    return (f'<svg viewBox="0 -14 {WIDTH} {HEIGHT + 14}" role="img" aria-label="Calls per second by the server that answered; numbers are steps">'
            + "".join(drawn) + f"</svg><div>{keys}</div>")


def promises(story):
    return table(("step", "promise", "", "what happened"), [
        (f"{i}. {title}" if not j else "", one.text, ("kept", "kept") if one.is_kept else ("broken", "broken"), one.detail)
        for i, (_, title, of) in enumerate(story.steps, 1) for j, one in enumerate(of)])


def servers(story):
    rows = []
    for one in story.backends:
        of = story.pages[one.name]["servers"]
        names = sorted({name for server in of for each in server["connections"] for name in each["identities"]})
        calls = [sum(server["calls"][kind] for server in of) for kind in ("started", "failed")]
        rows.append((one.name, one.address, one.version, one.starts, *calls, ", ".join(names) or "none"))
    return table(("server", "address", "version", "starts", "calls since the last start", "failed", "clients by certificate"), rows)


def requests(story):
    with story.plane.changed:
        counts = collections.Counter((r.node, r.type, bool(r.error)) for r in story.plane.seen.elements())
    nodes = sorted({(node, kind) for node, kind, _ in counts})
    return table(("node", "resource", "accepted or requested", "rejected"), [
        (node, kind, counts[node, kind, False], counts[node, kind, True]) for node, kind in nodes])


def metrics(story):
    return table(("metric", "labels", "value"), [
        (name if not i else "", ", ".join(f"{label} {text}" for label, text in sorted(labels.items())), f"{value:g}")
        for name in METRICS for i, (labels, value) in enumerate(story.measured[name])])


def write(story, file):
    kept = sum(one.is_kept for one in story.promises)
    sections = (("Calls per second", chart(story)), ("Promises", promises(story)), ("Servers, by their pages for operators", servers(story)),
                ("What clients and servers told the control plane", requests(story)),
                ("What a client measured, for the dashboard mesh.json", metrics(story)))
    text = (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>A mesh: {kept} of {len(story.promises)} promises kept</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style><h1>A mesh of three servers</h1>'
            f"<p>{kept} of {len(story.promises)} promises are kept. The members are {html.escape(story.network.text)}.</p>"
            + "".join(f"<section><h2>{title}</h2>{of}</section>" for title, of in sections) + "</html>\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
