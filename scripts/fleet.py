#!/usr/bin/env python3
"""Plays a day of a simulated fleet (tests/sim/day) with the protections against overload and without, and draws what was measured.

    fleet.py [--preset NAME] [--seed N] [--services N] [--write]

The preset is release unless told, and must be built. The figures and the charts are written to build/fleet; --write also writes the
charts of docs/guides/overload.md.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench"))

from harness import charts  # noqa: E402

FOLDER = ROOT / "build/fleet"
PUBLISHED = ROOT / "docs/figures"
HOURS_OF_A_SECOND = 24 / 288
WAYS = {"protected": "with protections", "unprotected": "without"}
LAYER_COLOURS = ("#2166ac", "#67a9cf", "#1b7837", "#8c6d31", "#b2182b")
LEAST_MS = 1


def parse(arguments):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--services", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(arguments)


def prepare(axes, day, title, unit):
    for event in day["events"]:
        axes.axvspan(event["begin"] * HOURS_OF_A_SECOND, event["end"] * HOURS_OF_A_SECOND, color="#eeeeee")
    axes.set_title(title, loc="left", fontweight="bold")
    axes.set_ylabel(unit)
    axes.set_xlim(0, 24)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#dddddd")


def name_events(axes, day):
    for event in day["events"]:
        axes.annotate(event["name"], ((event["begin"] + event["end"]) / 2 * HOURS_OF_A_SECOND, 1), xycoords=("data", "axes fraction"),
                      xytext=(0, -10), textcoords="offset points", ha="center", fontsize=8, color="#555555")


def draw_goodput(axes, day, hours):
    for line, (way, label) in zip(axes, WAYS.items()):
        prepare(line, day, f"Requests of users, {label}", "per second")
        users = day[way]["layers"][0]
        line.plot(hours, users["offered"], color="#bbbbbb", linewidth=1, label="offered")
        line.plot(hours, day[way]["capacity"], color="#333333", linewidth=1, linestyle=":", label="capacity")
        line.plot(hours, users["good"], color="#b2182b" if way == "unprotected" else "#1b7837", linewidth=1.5, label="answered in time")
        line.set_ylim(0, 1.6 * max(day[way]["capacity"]))
        name_events(line, day)
        line.legend(ncols=3, loc="upper left", bbox_to_anchor=(0.45, 1.17), frameon=False, fontsize=8)


def draw_layers(axes, day, hours, title, unit, value):
    for panel, (way, label) in zip(axes, WAYS.items()):
        prepare(panel, day, f"{title}, {label}", unit)
        for number, layer in enumerate(day[way]["layers"]):
            panel.plot(hours, value(layer), color=LAYER_COLOURS[number], linewidth=1, label=f"layer {number + 1}")
        name_events(panel, day)
        panel.legend(ncols=5, loc="upper left", bbox_to_anchor=(0.45, 1.17), frameon=False, fontsize=8)


def draw_latency(axes, day, hours):
    draw_layers(axes, day, hours, "p99 of answers", "ms", lambda layer: [max(ms, LEAST_MS) if ms else None for ms in layer["p99_ms"]])
    for panel in axes:
        panel.set_yscale("log")


def draw_refusals(axes, day, hours):
    draw_layers(axes, day, hours, "Calls that failed", "per second",
                lambda layer: [offered - good for offered, good in zip(layer["offered"], layer["good"])])


def draw(day):
    from matplotlib import rcParams
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    rcParams["svg.hashsalt"] = "coracle"  # the same figures make the same file
    rcParams["path.simplify_threshold"] = 1.0
    hours = [second * HOURS_OF_A_SECOND for second in range(len(day["protected"]["allowed"]))]
    for name, painter in {"goodput": draw_goodput, "latency": draw_latency, "refusals": draw_refusals}.items():
        figure = Figure((10, 5.4), layout="constrained")
        panels = figure.subplots(2, 1, sharex=True)
        painter(panels, day, hours)
        panels[-1].set_xlabel("hour of the day")
        FigureCanvasSVG(figure).print_svg(FOLDER / f"fleet_{name}.svg", metadata={"Date": None})


def main(arguments):
    wanted = parse(arguments)
    program = ROOT / "build" / wanted.preset / "bin/sim_day"
    if not program.exists():
        print(f"sim_day was not built: ./dev build {wanted.preset} sim_day")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    measured = FOLDER / "day.json"
    done = subprocess.run([program, "--seed", str(wanted.seed), "--services", str(wanted.services), "--figures", measured])
    charts.prepare(FOLDER)
    draw(json.loads(measured.read_text()))
    print(f"figures and charts: {FOLDER.relative_to(ROOT)}")
    if wanted.write:
        for chart in FOLDER.glob("fleet_*.svg"):
            shutil.copy(chart, PUBLISHED)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
