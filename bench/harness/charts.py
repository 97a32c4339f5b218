"""Grouped bars as one SVG file, which any page can show, drawn by matplotlib."""

import pathlib
import sys

from harness import environment

REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
OURS = ("#b2182b", "#ef8a62", "#f4c0a4", "#e8d8c8")
THEIRS = ("#2166ac", "#67a9cf", "#1b7837", "#7fbf7b", "#762a83", "#af8dc3", "#8c6d31", "#888888")
WIDTH_IN, PANEL_HEIGHT_IN = 10, 3.3
GROUP = 0.85  # the bars of a label take this share of its place


def colours_of(names):
    """Warm ones for ours, cold ones for the others."""
    colours = {}
    for palette, mine in ((OURS, True), (THEIRS, False)):
        some = [name for name in names if name.startswith("coracle") == mine]
        colours |= {name: palette[i % len(palette)] for i, name in enumerate(some)}
    return colours


def draw(axes, panel, colours):
    """A panel: title, labels, and for each of its series a value or None for each label; logarithmic unless it says False."""
    width = GROUP / len(panel["series"])
    for k, (name, series) in enumerate(panel["series"].items()):
        shift = (k - (len(panel["series"]) - 1) / 2) * width
        places = [i + shift for i, value in enumerate(series) if value]
        axes.bar(places, [value for value in series if value], 0.9 * width, color=colours[name])
    axes.set_title(panel["title"], loc="left", fontweight="bold")
    axes.set_xticks(range(len(panel["labels"])), panel["labels"])
    axes.set_yscale("log" if panel.get("logarithmic", True) else "linear")
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#dddddd")


def prepare(folder):
    """Makes matplotlib importable: Debian's package cannot be installed beside the Boost of the tests (libboost1.81-dev on Debian 12)."""
    environment.install(folder / "charts", REQUIREMENTS)
    sys.path += map(str, folder.glob("charts/lib/python*/site-packages"))


def write(file, panels):
    from matplotlib import patches, rcParams
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "coracle"  # the same figures make the same file
    panels = [panel for panel in panels if any(value for series in panel["series"].values() for value in series)]
    names = list(dict.fromkeys(name for panel in panels for name in panel["series"]))
    colours = colours_of(names)
    figure = Figure((WIDTH_IN, PANEL_HEIGHT_IN * len(panels) + 0.3 * len(names) / 4), layout="constrained")
    every = figure.subplots(len(panels), squeeze=False).flat
    for axes, panel in zip(every, panels):
        draw(axes, panel, colours)
    every[0].legend([patches.Patch(color=colours[name]) for name in names], names, ncols=4, loc="lower left",
                    bbox_to_anchor=(0, 1.12), frameon=False)
    FigureCanvasSVG(figure).print_svg(file, metadata={"Date": None})
