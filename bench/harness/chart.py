"""Bar charts in one HTML file that needs nothing else: Chart.js and the data stand in it."""

import html
import json
import pathlib

from harness import machine

LIBRARY = pathlib.Path("/usr/share/javascript/chart.js/chart.min.js")  # Debian's libjs-chart.js
COLOURS = ("#d62728", "#ff9896", "#1f77b4", "#aec7e8", "#2ca02c", "#98df8a", "#9467bd", "#8c564b")

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; display: grid; gap: 2em; grid-template-columns: repeat(auto-fit, minmax(30em, 1fr)) }}
h1 {{ grid-column: 1 / -1 }}</style>
<script>{library}</script></head><body><h1>{title}</h1>
<script>
for (const one of {charts}) {{
  const box = document.body.appendChild(document.createElement("div"));
  new Chart(box.appendChild(document.createElement("canvas")), one);
}}
</script></body></html>
"""


def bars(title, across, labels, series):
    """One chart: a group of bars for each label, a bar in it for each of `series`, name to values."""
    sets = [{"label": name, "data": [round(value, 3) for value in of], "backgroundColor": COLOURS[i % len(COLOURS)]}
            for i, (name, of) in enumerate(series.items())]
    return {"type": "bar", "data": {"labels": labels, "datasets": sets},
            "options": {"animation": False, "plugins": {"title": {"display": True, "text": title}},
                        "scales": {"x": {"title": {"display": True, "text": across}}, "y": {"beginAtZero": True}}}}


def write(file, title, charts):
    if not LIBRARY.exists():
        raise machine.Failure("there is no Chart.js; mend: apt-get install libjs-chart.js")
    file.write_text(PAGE.format(title=html.escape(title), library=LIBRARY.read_text(), charts=json.dumps(charts)))
