"""The pages of with_pages() in headless Chromium, and coracle top and coracle pages, which read their JSON."""

import re

import pytest

from driven_page import driven_page, label, named
from programs import Server, own, run

PAGES = ("overview", "calls", "rpcz", "connections", "channels", "loops", "memory", "limits", "configuration", "log_levels", "version")
TITLES = {"overview": "Overview", "rpcz": "rpcz", "log_levels": "Log levels"}
LIMIT_S = 20


@pytest.fixture(scope="module")
def server():
    with Server(own("pages_server")) as one:
        yield one


@pytest.fixture(scope="module")
def browser():
    with driven_page() as page:
        yield page


@pytest.fixture
def page(browser):
    """Whatever a test does, the page runs no script of others, loads nothing of others and raises nothing."""
    yield browser
    assert browser.slips() == []
    assert len(browser.visited()) == 1, "the origins that the page has loaded something from"
    browser.open("about:blank")


def address(server, name):
    return f"http://{server.address}/pages/#{name}"


def shown(page, name):
    """Waits until the page has its data: each has a table, tiles or levels."""
    page.expect({"css": "h2"}, TITLES.get(name, name.capitalize()))
    page.expect(named("status"), server_host(page) if name in ("rpcz", "configuration", "log_levels", "version") else "Updated at")


def server_host(page):
    return re.match(r"http://([^/]+)/", page.address())[1]


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_each_page_is_accessible_and_fits(page, server, theme, width):
    page.open(address(server, PAGES[0]), {"theme": theme, "width": width})
    for name in PAGES:
        page.click(named("link", TITLES.get(name, name.capitalize())))
        shown(page, name)
        assert page.faults() == [], name
        assert page.run("document.documentElement.scrollWidth") <= width, f"{name} is wider than the window"


def test_the_overview_has_the_calls_of_each_method(page, server):
    page.open(address(server, "overview"))
    methods = named("table", "Methods")
    page.expect(named("row", within=methods), "echo.Echo/Misbehave")
    assert "20" in page.text({"css": "tbody tr:has-text('echo.Echo/Say')"})
    chat = page.text({"css": "tbody tr:has-text('echo.Echo/Chat')"}).split("\t")
    assert chat[6] == "1", "in progress"


def test_calls_in_progress_show_where_tasks_wait(page, server):
    page.open(address(server, "calls"))
    page.expect(named("table", "Calls in progress"), "/echo.Echo/Chat")
    page.expect({"css": "pre.tasks"}, "echo_service.hpp:")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_a_method_of_the_overview_leads_to_its_calls_with_their_events(page, server, theme, width):
    page.open(address(server, "overview"), {"theme": theme, "width": width})
    page.click(named("link", "echo.Echo/Misbehave"))
    page.expect({"css": "main h3"}, "echo.Echo/Misbehave, ")
    page.expect({"css": "details.call >> nth=0"}, "NOT_FOUND")
    page.click({"css": "section:has-text('Misbehave, server') details.call summary >> nth=0"})
    events = named("table", "Events of call 1 of slowest of the server")
    page.expect(events, "HEADERS")
    page.expect(events, "began")
    page.expect(events, "NOT_FOUND")
    assert page.faults() == []
    assert page.run("document.documentElement.scrollWidth") <= width, "the page is wider than the window"
    page.click(named("link", "All methods"))
    page.expect(named("table", "Recorded methods"), "echo.Echo/Say")


def test_a_channel_shows_why_it_does_not_connect(page, server):
    page.open(address(server, "channels"))
    page.expect({"css": "section"}, "127.0.0.1:1")
    page.expect({"css": "section"}, "refused")


def test_a_level_of_the_log_is_chosen(page, server):
    page.open(address(server, "log_levels"))
    page.choose(label("tls"), "error")
    page.reload()
    page.expect({"css": "#level-tls"}, "error")
    assert page.value(label("tls")) == "error"


def test_a_paused_page_stays_as_it_is(page, server):
    page.open(address(server, "overview"))
    page.expect(named("status"), "Updated at")
    page.click(named("button", "Pause"))
    page.expect(named("status"), "Paused")


def test_top_prints_a_table(server):
    done = run(own("coracle"), "top", server.address, "-p", "--once", limit_s=LIMIT_S)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2].split("  ")[0].startswith("METHOD")
    say = next(line for line in lines if line.startswith("echo.Echo/Say")).split()
    assert say[-2:] == ["20", "0"], "started and failed"
    misbehave = next(line for line in lines if line.startswith("echo.Echo/Misbehave")).split()
    assert misbehave[-2:] == ["1", "1"], "started and failed"


def test_pages_prints_the_address(server):
    done = run(own("coracle"), "pages", server.address, "-p", limit_s=LIMIT_S)
    assert (done.returncode, done.stdout) == (0, f"http://{server.address}/pages/\n"), done.stderr


def test_top_says_what_a_server_without_pages_lacks():
    with Server(own("movie_server"), "--port=0") as other:
        done = run(own("coracle"), "top", other.address, "-p", "--once", limit_s=LIMIT_S)
    assert done.returncode != 0
    assert "with_pages()" in done.stderr


def test_top_sends_what_the_pages_authorize():
    with Server(own("pages_server"), "Bearer me") as closed:
        refused = run(own("coracle"), "top", closed.address, "-p", "--once", limit_s=LIMIT_S)
        assert refused.returncode == 7, refused.stderr
        assert "pages_options::authorize decides who may use them" in refused.stderr
        done = run(own("coracle"), "top", closed.address, "-p", "--once", "-H", "authorization: Bearer me", limit_s=LIMIT_S)
        assert done.returncode == 0, done.stderr
