#!/usr/bin/env python3
"""The report of coracle load in a browser, light and dark, wide and narrow: each chart has data and is drawn, nothing goes wrong."""

import html
import json
import pathlib
import platform
import re
import shutil
import tempfile

from load import GREET, GREET_NOBODY, load
from rest_endpoint import MARKUP, endpoint
from stage import Cases, Missing, Server, equal, expect, own, run

CHARTS = ["rate", "latency", "bands", "histogram", "percentiles", "status"]
LISTEN = "<script>window.slips = []; addEventListener('error', (e) => slips.push(String(e.message)));</script>"
# What the charts hold, how many of their pixels are painted, and whether the page is wider than its window.
LOOK = """<script>
const painted = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.filter((v, i) => i % 4 === 3 && v).length;
const look = (id, chart) => ({ series: chart.data.datasets.map((s) => s.data.map((v) => v !== null && typeof v === "object" ? v.y : v)),
                               curved: chart.data.datasets.map((_, i) => chart.getDatasetMeta(i).dataset).filter((line) => line && (line.options.tension || line.options.cubicInterpolationMode === "monotone")).length,
                               painted: painted(document.getElementById(id)) });
const scrolls = (area) => area.scrollWidth > area.clientWidth || area.scrollHeight > area.clientHeight;
const tables = [...document.querySelectorAll(".scroll")];
document.body.dataset.seen = JSON.stringify({ slips, charts: Object.fromEntries(Object.entries(charts || {}).map(([id, c]) => [id, look(id, c)])),
  tables: [...document.querySelectorAll("table")].map((t) => [t.id, t.querySelectorAll("tbody tr").length]),
  clipped: tables.filter((area) => area.scrollWidth > area.clientWidth).map((area) => area.firstElementChild.id),
  scrolling: tables.filter(scrolls).length, unreachable: tables.filter((area) => scrolls(area) !== (area.tabIndex === 0) || !area.ariaLabel).map((area) => area.firstElementChild.id),
  text: document.body.innerText, overflows: document.documentElement.scrollWidth > innerWidth });
</script>"""


def browser():
    for name in ("chromium-headless-shell", "chromium"):
        found = shutil.which(name)
        if found:
            return found
    raise Missing("there is no Chromium; scripts/packages.sh test installs it")


def seen(page, *flags):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "page.html")
        file.write_text(page.replace("<head>", "<head>" + LISTEN).replace("</body>", LOOK + "</body>"))
        done = run(browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", *flags, "--dump-dom",
                   file.as_uri(), limit_s=60)
    found = re.search(r'data-seen="([^"]*)"', done.stdout)
    expect(found, f"the page has not run: {done.stderr[-300:]}")
    return json.loads(html.unescape(found[1]))


def report(server, *words, code=0):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "report.html")
        load(server, *words, "--report", file, code=code)
        return file.read_text()


def all_drawn(look):
    equal(look["slips"], [], "what went wrong in the page")
    equal(sorted(look["charts"]), sorted(f"{name}-chart" for name in CHARTS), "the charts")
    for name, chart in look["charts"].items():
        wanted = [series for i, series in enumerate(chart["series"]) if name != "rate-chart" or i % 3 != 1]  # that one is of failures
        expect(wanted and all(any(series) for series in wanted), f"{name} lacks data: {chart['series']}")
        expect(chart["painted"] > 1000, f"{name} has {chart['painted']} painted pixels")
        equal(chart["curved"], 0, f"the lines of {name} that are no straight lines between samples")
    expect(not look["overflows"], "the page is wider than its window")
    equal(look["unreachable"], [], "the scroll areas that Tab does not reach, or reaches in vain")
    for name, rows in look["tables"]:
        expect(rows > 0 or name == "methods-table", f"{name} is empty")


def each_chart_is_drawn(server):
    page = report(server, *GREET, "--rate", "200", "--duration", "2s", "--expect", "p50<1h")
    for flags in ((), ("--window-size=1280,900",), ("--window-size=500,900",), ("--blink-settings=preferredColorScheme=0",)):
        look = seen(page, *flags)
        all_drawn(look)
        if "--window-size=1280,900" in flags:
            equal(look["clipped"], [], "the tables that do not fit")
        expect(look["scrolling"] > 0, "nothing scrolls, so that the keyboard's way to it is not tried")
        equal(sum(look["charts"]["bands-chart"]["series"][0]), 400, "the calls of all bands")
        expect("p50<1h – met" in look["text"], "the expectation is missing")


def a_second_without_calls_is_a_gap(server):
    look = seen(report(server, *GREET, "--stage", "40:1s", "--stage", "0:2s", "--stage", "40:1s"))
    all_drawn(look)
    p50 = look["charts"]["latency-chart"]["series"][0]
    expect(p50[0] and p50[-1] and None in p50, f"the median by the second is {p50}")


def the_page_says_how_and_where_it_was_made(server):
    secret = "Bearer s3cret"
    page = report(server, *GREET, "-n", "5", "-H", f"authorization: {secret}", f"--header=x-who: {secret}")
    text = seen(page)["text"]
    command = f"coracle load {server.address} SayHello --plaintext --header 'authorization: ...' --header 'x-who: ...'"
    expect(command in text and """--data '{"name": "Ada"}' --count 5""" in text, f"the command line is not in {text[:600]!r}")
    expect("s3cret" not in page, "a header's value is in the page")
    expect(f"on {platform.node()} ({platform.system()} {platform.release()}" in text, "the host is missing")
    expect(re.search(rf"server\t{re.escape(server.address)}\n", text), f"the server's address is not in {text[-1500:]!r}")


def two_runs_stand_beside_each_other(server):
    with endpoint() as origin:
        page = report(server, *GREET, "-n", "50", "--rest", f"{origin}/keeping")
    look = seen(page)
    all_drawn(look)
    equal([sum(series) for series in look["charts"]["status-chart"]["series"]], [50, 50], "the calls of both")


def a_run_without_a_good_call_is_told(server):
    look = seen(report(server, *GREET_NOBODY, "-n", "30", code=65))
    equal(look["slips"], [], "what went wrong in the page")
    equal(look["charts"]["status-chart"]["series"], [[30]], "the calls by status")
    expect("INVALID_ARGUMENT" in look["text"] and "say whom to greet" in look["text"], "the reason is missing")


def what_a_server_says_stays_text(server):
    """A message that would be markup, or end the script, is shown as it is."""
    with endpoint() as origin:
        look = seen(report(server, *GREET, "-n", "3", "--rest", f"{origin}/rude", code=65))
    equal(look["slips"], [], "what went wrong in the page")
    expect(MARKUP in look["text"], "the message is not shown")


def main():
    cases = Cases()
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        cases.each("LoadReport", [each_chart_is_drawn, a_second_without_calls_is_a_gap, the_page_says_how_and_where_it_was_made, two_runs_stand_beside_each_other, a_run_without_a_good_call_is_told,
                                  what_a_server_says_stays_text], server)
    cases.end()


if __name__ == "__main__":
    main()
