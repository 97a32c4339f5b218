#!/usr/bin/env python3
"""The figures of the documentation: docs/figures/*.toml drawn as SVG.

figures.py says whether each is up to date, figures.py --write draws them anew.
"""

import html
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/figures"
LINE, INK, SOFT, FILL, MARK = 17, "#24424a", "#5b7a82", "#e3f1f2", "#0e7c86"
ARROW = (f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
         f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>')


class Fault(Exception):
    pass


def text(x, y, words, anchor="middle", size=13, weight="normal", fill=INK, over=""):
    return (f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="{size}" font-weight="{weight}" fill="{fill}" '
            f'text-anchor="{anchor}"{over}>{html.escape(words)}</text>')


OVER_LINES = ' paint-order="stroke" stroke="white" stroke-width="4"'  # a text that crosses a line stays legible


def box(x, y, width, height, dashed=False):
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{FILL}" stroke="{MARK}"{dash}/>'


def arrow(points):
    path = " ".join(f"{'ML'[i > 0]}{x},{y}" for i, (x, y) in enumerate(points))
    return f'<path d="{path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#head)"/>'


def turn(figure):
    """Boxes below each other, the last of which leads back to the first; notes beside some of them."""
    width, left, gap, top = 330, 250, 34, 56
    places, y = [], top
    for one in figure["box"]:
        height = 34 + LINE * len(one["text"])
        places.append((y, height))
        yield box(left, y, width, height)
        yield text(left + width / 2, y + 22, one["name"], weight="bold")
        for i, line in enumerate(one["text"]):
            yield text(left + width / 2, y + 40 + LINE * i, line, fill=SOFT)
        y += height + gap
    for (above, height), (below, _) in zip(places, places[1:]):
        yield arrow([(left + width / 2, above + height), (left + width / 2, below)])
    first, last = (place[0] + place[1] / 2 for place in (places[0], places[-1]))
    right = left + width
    yield arrow([(right, last), (right + 50, last), (right + 50, first), (right, first)])
    for one in figure.get("side", []):
        if one["to"] >= len(places):
            raise Fault(f"a note is beside box {one['to']}, which there is not")
        above, height = places[one["to"]]
        middle, tall = above + height / 2, 20 + LINE * len(one["text"])
        yield box(10, middle - tall / 2, 190, tall, dashed=True)
        for i, line in enumerate(one["text"]):
            yield text(105, middle - tall / 2 + 23 + LINE * i, line, fill=SOFT)
        yield arrow([(200, middle), (left, middle)])
    yield right + 70, y - gap + 14


def sequence(figure):
    """Lanes beside each other, arrows between them from top to bottom, notes on them."""
    lanes, apart, left = figure["lanes"], 280, 130
    at = [left + apart * i for i in range(len(lanes))]
    drawn, y = [], 108
    for step in figure["step"]:
        if "divider" in step:
            drawn.append(f'<line x1="{at[0] - 90}" x2="{at[-1] + 90}" y1="{y}" y2="{y}" stroke="{SOFT}" stroke-dasharray="2 4"/>')
            drawn.append(text(at[0] - 90, y - 6, step["divider"], anchor="start", fill=SOFT, size=12, over=OVER_LINES))
            y += 44
        elif "at" in step:
            tall = 16 + LINE * len(step["text"])
            wide = 16 + round(6.7 * max(map(len, step["text"])))
            drawn.append(box(at[step["at"]] - wide / 2, y - 16, wide, tall))
            drawn += [text(at[step["at"]], y + 4 + LINE * i, line, fill=SOFT, size=12) for i, line in enumerate(step["text"])]
            y += tall + 26
        else:
            begin, end = at[step["from"]], at[step["to"]]
            drawn.append(text((begin + end) / 2, y - 7, step["text"], size=12, over=OVER_LINES))
            drawn.append(arrow([(begin, y), (end, y)]))
            y += 36
    for x, lane in zip(at, lanes):
        yield box(x - 75, 48, 150, 30)
        yield text(x, 68, lane, weight="bold")
        yield f'<line x1="{x}" x2="{x}" y1="78" y2="{y - 20}" stroke="{SOFT}"/>'
    yield from drawn
    yield at[-1] + 120, y - 6


def meeting(one, other):
    """Where an arrow between two boxes begins and ends: on the sides that face each other."""
    (x1, y1, w1, h1), (x2, y2, w2, h2) = one, other
    left, right = max(x1, x2), min(x1 + w1, x2 + w2)
    top, bottom = max(y1, y2), min(y1 + h1, y2 + h2)
    if left < right:  # one below the other
        x = (left + right) / 2
        return [(x, y1 + h1), (x, y2)] if y1 < y2 else [(x, y1), (x, y2 + h2)]
    if top < bottom:
        y = (top + bottom) / 2
        return [(x1 + w1, y), (x2, y)] if x1 < x2 else [(x1, y), (x2 + w2, y)]
    # A corner between them: down or up from one box, then into the side of the other.
    x, y = x1 + w1 / 2, y2 + h2 / 2
    return [(x, y1 + h1 if y1 < y2 else y1), (x, y), (x2 if x1 < x2 else x2 + w2, y)]


def map_of_boxes(figure):
    """Boxes at places of their own, [x, y, width, height], and arrows between them. A group is drawn dashed, its name at the top."""
    places, wide, tall = {}, 0, 0
    for one in figure["box"]:
        x, y, width, height = places[one.get("id", one["name"])] = one["place"]
        x, y = x, y + 40  # below the title
        wide, tall = max(wide, x + width), max(tall, y + height)
        group, lines = one.get("group", False), one.get("text", [])
        yield (f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="none" stroke="{SOFT}" stroke-dasharray="5 4"/>'
               if group else box(x, y, width, height))
        at = y + 21 if group else y + height / 2 + 5 - LINE * len(lines) / 2
        if group:
            yield text(x + 12, at, one["name"], anchor="start", weight="bold", fill=SOFT)
            for i, line in enumerate(lines):
                yield text(x + 12, y + height - 10 - LINE * (len(lines) - 1 - i), line, anchor="start", fill=SOFT, size=12)
            continue
        yield text(x + width / 2, at, one["name"], weight="bold")
        for i, line in enumerate(lines):
            yield text(x + width / 2, at + LINE * (i + 1), line, fill=SOFT, size=12)
    for one in figure.get("arrow", []):
        points = [(x, y + 40) for x, y in meeting(places[one["from"]], places[one["to"]])]
        yield arrow(points)
        if one.get("both"):
            yield arrow(points[::-1])
        (x1, y1), (x2, y2) = points[:2]
        upright = x1 == x2
        for i, line in enumerate(one.get("text", [])):
            # Beside an upright arrow, above a level one.
            x, y = (x1 + 8, (y1 + y2) / 2 + 4 + 15 * (i - (len(one["text"]) - 1) / 2)) if upright else ((x1 + x2) / 2, y1 - 7)
            yield text(x, y, line, anchor="start" if upright else "middle", size=12)
    yield wide + 14, tall + 14


TERMINAL = {"line": 18, "column": 7.83, "margin": 18, "typing_s": 0.5, "printing_s": 0.03}
PROMPT = re.compile(r"(\$ |\S*@\S+> )(.*)")
# Where nothing is animated, everything is shown.
SHOWING = ("<style>text{font:13px monospace;fill:#c8dadd;animation:show .1s backwards}.prompt{fill:#6fcdd6}.typed{fill:#fff}"
           "@keyframes show{from{opacity:0}}@media(prefers-reduced-motion:reduce){text{animation:none}}</style>")


def terminal(figure):
    """Lines of a terminal, which appear one after another: a typed one after a while, the printed ones quickly."""
    lines, one = figure["screen"], TERMINAL
    width = 2 * one["margin"] + one["column"] * max(map(len, lines))
    height = 2 * one["margin"] + one["line"] * len(lines)
    yield SHOWING
    yield f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#14272c"/>'
    when = -one["typing_s"]  # the first line is there at once
    for number, line in enumerate(lines):
        if not line:
            continue
        line = re.sub("^ +| {2,}", lambda blanks: "\u00a0" * len(blanks[0]), line)
        found = PROMPT.fullmatch(line)
        when += one["typing_s"] if found else one["printing_s"]
        words = (f'<tspan class="prompt">{html.escape(found[1])}</tspan><tspan class="typed">{html.escape(found[2])}</tspan>' if found
                 else html.escape(line))
        yield f'<text x="{one["margin"]}" y="{one["margin"] + 13 + one["line"] * number}" style="animation-delay:{when:.2f}s">{words}</text>'
    yield width, height


KINDS = {"turn": turn, "sequence": sequence, "map": map_of_boxes, "terminal": terminal}


def svg(source):
    figure = tomllib.loads(source.read_text())
    if figure.get("kind") not in KINDS:
        raise Fault(f"its kind is none of {', '.join(KINDS)}")
    *parts, (width, height) = KINDS[figure["kind"]](figure)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
            f'role="img"><title>{html.escape(figure["title"])}</title>')
    if figure["kind"] == "terminal":
        return "\n".join([head, *parts, "</svg>", ""])
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', ARROW,
                      text(width / 2, 28, figure["title"], size=15, weight="bold"), *parts, "</svg>", ""])


def main(arguments):
    failed = False
    sources = sorted(FOLDER.glob("*.toml"))
    for source in sources:
        case, drawn = f"TheFigureIsUpToDate/{source.stem}", source.with_suffix(".svg")
        try:
            wanted = svg(source)
        except (Fault, KeyError, IndexError, tomllib.TOMLDecodeError) as fault:
            failed = True
            print(f"FAIL {case}: {source.name}: {fault}")
            continue
        if "--write" in arguments:
            drawn.write_text(wanted)
        same = drawn.exists() and drawn.read_text() == wanted
        failed |= not same
        print(f"PASS {case}" if same else f"FAIL {case}: {source.name} says something else; fix: scripts/figures.py --write")
    if not sources:
        print("FAIL TheFigureIsUpToDate: docs/figures holds no figure")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
