"""The report of coracle load in a browser, light and dark, wide and narrow: each chart has data and is drawn, nothing goes wrong."""

import html
import json
import pathlib
import platform
import re
import tempfile

import pytest

import accessibility
from coracle_command import coracle
from load_command import GREET, GREET_NOBODY, load
from rest_endpoint import MARKUP, endpoint
from programs import run

LATENCIES = ["histogram", "percentiles"]
TIMES = ["rate", "latency"]  # of runs of two seconds and more
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
  tables: Object.fromEntries([...document.querySelectorAll("table")].filter((t) => t.clientWidth).map((t) => [t.id, t.querySelectorAll("tbody tr").length])),
  clipped: tables.filter((area) => area.scrollWidth > area.clientWidth).map((area) => area.firstElementChild.id),
  widths: [...document.querySelectorAll(".chart")].filter((one) => one.clientWidth && !one.closest("#methods")).map((one) => one.clientWidth),
  hints: document.querySelectorAll(".hint:not([hidden])").length,
  scrolling: tables.filter(scrolls).length, unreachable: tables.filter((area) => scrolls(area) !== (area.tabIndex === 0) || !area.ariaLabel).map((area) => area.firstElementChild.id),
  text: document.body.innerText, overflows: document.documentElement.scrollWidth > innerWidth });
</script>"""


@pytest.fixture(scope="module")
def server(chromium, greeter_server):
    return greeter_server


def seen(page, *flags):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "page.html")
        file.write_text(page.replace("<head>", "<head>" + LISTEN).replace("</body>", LOOK + "</body>"))
        done = run(accessibility.chromium(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", *flags, "--dump-dom",
                   file.as_uri(), limit_s=60)
    found = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert found, f"the page has not run: {done.stderr[-300:]}"
    return json.loads(html.unescape(found[1]))


def report(server, *words, code=0):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "report.html")
        load(server, *words, "--report", file, code=code)
        return file.read_text()


def all_drawn(look, charts):
    assert look["slips"] == [], "what went wrong in the page"
    assert sorted(look["charts"]) == sorted(f"{name}-chart" for name in charts), "the charts"
    assert len(set(look["widths"])) == 1, f"the charts have the widths {look['widths']}"
    for name, chart in look["charts"].items():
        assert chart["series"] and all(any(series) for series in chart["series"]), f"{name} lacks data: {chart['series']}"
        assert chart["painted"] > 1000, f"{name} has {chart['painted']} painted pixels"
        assert chart["curved"] == 0, f"the lines of {name} that are no straight lines between samples"
    assert not look["overflows"], "the page is wider than its window"
    assert look["unreachable"] == [], "the scroll areas that Tab does not reach, or reaches in vain"
    assert look["hints"] == look["scrolling"], "a table that scrolls says so, and no other"


def test_each_chart_is_drawn(server):
    page = report(server, *GREET, "--rate", "200", "--duration", "2s", "--expect", "p50<1h", "--bands", "1ms,2ms")
    for flags in ((), ("--window-size=1280,900",), ("--window-size=500,900",), ("--blink-settings=preferredColorScheme=0",)):
        look = seen(page, *flags)
        all_drawn(look, [*LATENCIES, *TIMES, "bands"])
        if "--window-size=1280,900" in flags:
            assert look["clipped"] == [], "the tables that do not fit"
        for head in ("second\tOK\tfailed\tactive\tsent\treceived\n", "second\tp50\tp90\tp95\tp99\tmax\n"):
            assert head in look["text"], "the columns of a table"
        assert "Rate and active calls over time" in look["text"]
        assert ("columns: scroll sideways for more" in look["text"]) == bool(look["clipped"])
        assert sum(look["charts"]["bands-chart"]["series"][0]) == 400, "the calls of all bands"
        assert re.search(r"All thresholds passed: 1\n.*\np50\t< 1h\t\S+ \S+\tpassed\n", look["text"]), f"the threshold is missing in {look['text'][:600]!r}"


def test_the_report_names_what_is_active(server):
    look = seen(report(server, *GREET, "-c", "4", "--duration", "2s"))
    assert "Rate and active workers over time" in look["text"]
    look = seen(report(server, *GREET, "--users", "4", "--duration", "2s"))
    assert "Rate and active users over time" in look["text"]


def test_thresholds_that_failed_are_counted(server):
    look = seen(report(server, *GREET, "-n", "20", "--expect", "p50<1us", "--expect", "p50<1h", code=66))
    assert re.search(r"1 of 2 thresholds failed\n.*\np50\t< 1 µs\t\S+ \S+\tfailed\n", look["text"]), look["text"][:600]


def test_a_table_that_scrolls_says_so(server):
    look = seen(report(server, *GREET, "--rate", "20", "--duration", "12s"))
    all_drawn(look, [*LATENCIES, *TIMES])
    assert look["scrolling"] > 0 and "12 rows: scroll for more" in look["text"]


@pytest.mark.timeout(200)
def test_the_report_can_be_used_without_a_mouse_and_good_eyes(server, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(report(server, *GREET, "-n", "200", "--expect", "p50<1h", "--expect", "p50<1us", code=66))
    views = accessibility.look(file.as_uri(), tabs=12)
    assert not accessibility.faults(views)
    assert not accessibility.lost_stops(views)
    assert "Copy JSON" in {stop["name"] for view in views for stop in view["stops"] if stop}


def test_a_second_without_calls_is_a_gap(server):
    look = seen(report(server, *GREET, "--stage", "40:1s", "--stage", "0:2s", "--stage", "40:1s"))
    all_drawn(look, [*LATENCIES, *TIMES])
    p50 = look["charts"]["latency-chart"]["series"][0]
    assert p50[0] and p50[-1] and None in p50, f"the median by the second is {p50}"


def test_the_page_says_how_and_where_it_was_made(server):
    secret = "Bearer s3cret"
    page = report(server, *GREET, "-n", "5", "-H", f"authorization: {secret}", f"--header=x-who: {secret}",
                  "--reflect-header", f"x-token: {secret}")
    text = seen(page)["text"]
    command = f"coracle load {server.address} SayHello --plaintext --header 'authorization: ...' --header 'x-who: ...'"
    assert command in text and """--data '{"name": "Ada"}' --count 5""" in text, f"the command line is not in {text[:600]!r}"
    assert "--reflect-header 'x-token: ...'" in text
    assert "s3cret" not in page, "a header's value is in the page"
    assert f"on {platform.node()} ({platform.system()} {platform.release()}" in text, "the host is missing"
    assert re.search(rf"server\t{re.escape(server.address)}\n", text), f"the server's address is not in {text[-1500:]!r}"


def test_two_runs_stand_beside_each_other(server):
    with endpoint() as origin:
        page = report(server, *GREET, "-n", "50", "--rest", f"{origin}/keeping")
    look = seen(page)
    all_drawn(look, LATENCIES)
    assert [sum(series) for series in look["charts"]["histogram-chart"]["series"]] == [50, 50], "the calls of both"
    assert look["tables"]["percentiles-table"] == 10 and "rate-table" not in look["tables"], "of a run of less than two seconds, nothing is shown over time"


def test_a_run_without_a_good_call_is_told(server):
    look = seen(report(server, *GREET_NOBODY, "-n", "30", code=65))
    assert look["slips"] == [], "what went wrong in the page"
    assert look["charts"] == {}, "there is no latency to draw"
    assert "INVALID_ARGUMENT" in look["text"] and "name must not be empty" in look["text"], "the reason is missing"


def test_what_a_server_says_stays_text(server):
    """A message that would be markup, or end the script, is shown as it is."""
    with endpoint() as origin:
        look = seen(report(server, *GREET, "-n", "3", "--rest", f"{origin}/rude", code=65))
    assert look["slips"] == [], "what went wrong in the page"
    assert MARKUP in look["text"], "the message is not shown"


def compared(server, folder, workers):
    """The page of two runs with 4 and `workers` workers, the second of which is a thousand times slower."""
    load(server, *GREET, "-n", "200", "-c", "4", "--json", folder / "a.json")
    load(server, *GREET, "-n", "200", "-c", workers, "--json", folder / "b.json")
    slower = json.loads((folder / "b.json").read_text())
    slower["command"] += " </script><script>slips.push('markup')</script>"
    before = json.loads((folder / "a.json").read_text())["runs"][0]["latency_ms"]
    slower["runs"][0]["latency_ms"] = {name: 1000 * value for name, value in before.items()}
    (folder / "b.json").write_text(json.dumps(slower))
    coracle("load", "compare", folder / "a.json", folder / "b.json", "--fail-if", "p99>+10%", "--force", "--report", folder / "compare.html", code=66)
    return folder / "compare.html"


@pytest.fixture(scope="module")
def comparison(server, tmp_path_factory):
    return compared(server, tmp_path_factory.mktemp("comparison"), "4")


def test_a_comparison_of_runs_that_differ_judges_nothing(server, tmp_path):
    look = seen(compared(server, tmp_path, "8").read_text(), "--window-size=1280,900")
    assert look["slips"] == [], "what went wrong in the page"
    assert "The runs differ in their scenario" in look["text"]
    assert re.search(r"p99\t\S+ \S+\t\S+ \S+\t× 1,000\s*\n", look["text"]), look["text"][:1500]
    assert not re.search(r"(worse|better)$", look["text"], re.M)


def test_a_comparison_shows_what_got_worse(comparison):
    look = seen(comparison.read_text(), "--window-size=1280,900")
    assert look["slips"] == [], "what went wrong in the page"
    assert [all(any(series) for series in chart["series"]) for chart in look["charts"].values()] == [True], look["charts"]
    assert look["clipped"] == [] and not look["overflows"]
    assert re.search(r"1 of 1 conditions failed\n.*\np99\t> \+10%\t× 1,000\tfailed\n", look["text"]), look["text"][:600]
    assert re.search(r"p99\t\S+ \S+\t\S+ \S+\t× 1,000\s*worse\n", look["text"]), look["text"][:1500]
    assert "The runs differ" not in look["text"]
    assert "</script>" in look["text"], "the command is shown as it is"


@pytest.mark.timeout(200)
def test_a_comparison_can_be_used_without_a_mouse_and_good_eyes(comparison):
    views = accessibility.look(comparison.as_uri())
    assert not accessibility.faults(views)
