"""Grouped bars on a logarithmic scale as one SVG file, which any page can show."""

import html
import math

OURS = ("#b2182b", "#ef8a62", "#f4c0a4", "#e8d8c8")
THEIRS = ("#2166ac", "#67a9cf", "#1b7837", "#7fbf7b", "#762a83", "#af8dc3", "#8c6d31", "#888888")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 1000, 300, 60, 50, 40, 30
FONT = 'font-family="sans-serif" font-size="12"'


def text(x, y, what, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {FONT} {more}>{html.escape(what)}</text>'


def bounds(panel):
    """Whole powers of ten around all values."""
    of = [value for series in panel["series"].values() for value in series if value]
    return math.floor(math.log10(min(of))), max(math.ceil(math.log10(max(of))), math.floor(math.log10(min(of))) + 1)


def draw(panel, colours, top):
    """A panel: title, labels, and for each of its series a value or None for each label."""
    low, high = bounds(panel)
    floor = top + HEIGHT - BOTTOM
    tall = HEIGHT - TOP - BOTTOM

    def height(value):
        return (math.log10(value) - low) / (high - low) * tall

    yield text(LEFT, top + 20, panel["title"], 'font-weight="bold"')
    for power in range(low, high + 1):
        y = floor - height(10**power)
        yield f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield text(LEFT - 6, y + 4, f"{10**power:g}", 'text-anchor="end"')
    group = (WIDTH - LEFT - 10) / len(panel["labels"])
    bar = min(0.85 * group / len(panel["series"]), 28)
    for i, label in enumerate(panel["labels"]):
        begin = LEFT + i * group + (group - bar * len(panel["series"])) / 2
        yield text(LEFT + (i + 0.5) * group, floor + 18, label, 'text-anchor="middle"')
        for k, (name, series) in enumerate(panel["series"].items()):
            if series[i]:
                tip = html.escape(f"{name}, {label}: {series[i]:.3g}")
                yield (f'<rect x="{begin + k * bar:.1f}" y="{floor - height(series[i]):.1f}" width="{0.9 * bar:.1f}" '
                       f'height="{height(series[i]):.1f}" fill="{colours[name]}"><title>{tip}</title></rect>')


def write(file, panels):
    panels = [panel for panel in panels if any(value for series in panel["series"].values() for value in series)]
    names = list(dict.fromkeys(name for panel in panels for name in panel["series"]))
    colours = {}
    for palette, mine in ((OURS, True), (THEIRS, False)):
        some = [name for name in names if name.startswith("coracle") == mine]
        colours |= {name: palette[i % len(palette)] for i, name in enumerate(some)}
    legend = 24 * ((len(names) + 3) // 4) + 10
    lines = []
    for i, name in enumerate(names):
        x, y = LEFT + 235 * (i % 4), 12 + 24 * (i // 4)
        lines += [f'<rect x="{x}" y="{y}" width="14" height="14" fill="{colours[name]}"/>', text(x + 20, y + 12, name)]
    for i, panel in enumerate(panels):
        lines += draw(panel, colours, legend + i * (HEIGHT + GAP))
    height = legend + len(panels) * (HEIGHT + GAP)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    file.write_text("\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>", ""]))
