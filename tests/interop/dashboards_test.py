"""The dashboards and alerts of the packages, with Debian's Prometheus: every query finds what a demo has measured."""

import json
import pathlib
import re
import types

import prometheus
import pytest
from programs import ROOT, Server, own, run

DASHBOARDS = sorted((ROOT / "packaging/grafana").glob("*.json"))
RULES = ROOT / "packaging/prometheus/coracle.rules.yml"
ALERTS = re.findall(r"- alert: (\w+)", RULES.read_text())
TESTS = ROOT / "tests/interop/alerts.yml"
SCRAPES = 3  # a rate needs two


def load(path):
    return json.loads(path.read_text())


def filled_in(expression):
    """A query as Grafana sends it."""
    for variable, value in (("$__rate_interval", "10s"), ("$job", ".*"), ("$instance", ".*"), ("$method", ".*"), ("$target", ".*")):
        expression = expression.replace(variable, value)
    assert "$" not in expression, f"a variable without a value here: {expression}"
    return expression


@pytest.fixture(scope="module")
def scraper(tmp_path_factory):
    """Has scraped a server and a client that make calls all the time."""
    with Server(own("observed_pair"), "--continue=yes") as program:
        program.wait_for(prometheus.CALLS_WERE_MADE, 30)
        with prometheus.Prometheus(tmp_path_factory.mktemp("prometheus"), {"movies": program.address}) as one:
            one.wait_for_scrapes(SCRAPES)
            yield one


@pytest.fixture(scope="module")
def mesh_scraper(tmp_path_factory):
    """Has scraped a client of the demonstration of a mesh, one of whose servers fails for a while."""
    pytest.importorskip("grpc", reason="./dev peers installs it")
    for name in ("mesh_server", "mesh_client", "coracle"):
        own(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        patch.syspath_prepend(str(ROOT / "scripts/mesh"))
        import network
        import story
        options = types.SimpleNamespace(short=True, loopback=True)
        with story.Story(options, network.Loopback(), pathlib.Path(tmp_path_factory.mktemp("mesh"))) as of:
            story.begin(of)
            with prometheus.Prometheus(tmp_path_factory.mktemp("prometheus"), {"mesh": of.guests.metrics}) as one:
                one.wait_for_scrapes(SCRAPES)
                story.outlier(of)
                one.wait_for_scrapes(SCRAPES)
                yield one


@pytest.fixture
def scraper_of(request):
    """The one that has scraped what a dashboard shows."""
    return lambda board: request.getfixturevalue("mesh_scraper" if board == "mesh" else "scraper")


def queries():
    for path in DASHBOARDS:
        for panel in load(path)["panels"]:
            for target in panel["targets"]:
                yield pytest.param(path.stem, target["expr"], id=f"{path.stem}: {panel['title']} {target['refId']}")


def test_there_is_a_dashboard_for_each_view():
    assert [path.stem for path in DASHBOARDS] == ["client", "mesh", "runtime", "service"]


@pytest.mark.parametrize("board,expression", queries())
def test_each_panel_shows_something(board, expression, scraper_of):
    assert scraper_of(board).wait_for_values(filled_in(expression))


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_each_variable_has_values(path, scraper_of):
    source, *others = load(path)["templating"]["list"]
    assert (source["type"], source["name"]) == ("datasource", "datasource")
    for variable in others:
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
        assert all(labels.get(label) for labels, _ in scraper_of(path.stem).query(filled_in(selector)) or [({}, 0)]), variable["name"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_can_be_imported_anywhere(path):
    board = load(path)
    assert board["id"] is None and board["uid"] == f"coracle-{path.stem}"
    taken = set()
    for panel in board["panels"]:
        assert {one["uid"] for one in (panel["datasource"], *(target["datasource"] for target in panel["targets"]))} == {"${datasource}"}
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not taken & cells, f"{panel['title']} lies on another panel or beside the page"
        taken |= cells
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_each_alert_can_be_evaluated(scraper):
    assert "SUCCESS" in run(prometheus.command("promtool"), "check", "rules", RULES).stdout
    for expression in re.findall(r"^        expr: \|\n((?:          .*\n)+)", RULES.read_text(), re.M):
        scraper.query(expression)


def test_alerts_fire_and_do_not_fire():
    done = run(prometheus.command("promtool"), "test", "rules", TESTS, limit_s=60)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = TESTS.read_text().split("  - name: ")
    for alert in ALERTS:
        own_cases = [one for one in cases if f"alertname: {alert}\n" in one]
        assert any("exp_labels" in one for one in own_cases), f"no test in which {alert} fires"
        assert any("exp_labels" not in one for one in own_cases), f"no test in which {alert} does not fire"


def test_each_alert_has_a_page_of_what_to_do():
    text = RULES.read_text()
    guide = (ROOT / "docs/guides/observe.md").read_text()
    pages = re.findall(r"runbook_url: \S+/docs/runbooks/(\w+)\.md\n", text)
    assert len(pages) == len(ALERTS) and sorted(pages) == sorted(path.stem for path in (ROOT / "docs/runbooks").glob("*.md"))
    for alert, name in zip(ALERTS, pages, strict=True):
        page = (ROOT / f"docs/runbooks/{name}.md").read_text()
        assert re.findall(r"^(#.*)", page, re.M) == [f"# {alert}", "## What it means", "## What to look at", "## What to do"], name
        assert f"| [{alert}](../runbooks/{name}.md) |" in guide, f"the guide does not list {alert}"
