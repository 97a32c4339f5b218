"""The pages of with_pages() in headless Chromium, and coracle top and coracle pages, which read their JSON."""

import re
import urllib.request

import pytest

from certificates import Certificates
from driven_page import driven_page, label, named
from programs import Server, own, peer, run

PAGES = ("overview", "calls", "rpcz", "connections", "channels", "loops", "memory", "limits", "certificates", "xds", "configuration", "log_levels",
         "version")
TITLES = {"overview": "Overview", "rpcz": "rpcz", "log_levels": "Log levels", "xds": "Control planes"}
LIMIT_S = 20


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Of a CA: (certificate, key) with 2 days left, with 20 and with 100."""
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    return [(made.server, made.server_key), made.vouched("soon", "/CN=soon.example", "subjectAltName=DNS:soon.example", days=20),
            made.vouched("later", "/CN=later.example", "subjectAltName=DNS:later.example", days=100)]


@pytest.fixture(scope="module")
def server(certificates):
    with Server(own("pages_server"), *(str(file) for pair in certificates for file in pair)) as one:
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


def test_certificates_show_what_is_left_and_why_new_files_are_not_used(page, server, certificates):
    page.open(address(server, "certificates"))
    rows = {name: {"css": f"tbody tr:has(td:first-child:has-text('CN={name}'))"} for name in ("localhost", "soon.example", "later.example")}
    page.expect(rows["localhost"], "1 day left")
    page.expect({"css": "td .bad"}, "1 day left")
    page.expect({"css": "td .soon"}, "19 days left")
    assert "99 days left" in page.text(rows["later.example"])
    assert page.text(rows["localhost"]).split("\t")[2] == "localhost, foo.test.google.fr, all others"
    assert page.text({"css": "main"}).endswith("Clients are not asked for certificates.")
    chain, _ = certificates[0]
    kept = chain.read_bytes()
    try:
        chain.write_text("no certificate")
        page.reload()
        page.expect({"css": "main .failure"}, "has no certificate in PEM form")
        page.expect(rows["localhost"], "1 day left")
    finally:
        chain.write_bytes(kept)


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


@pytest.fixture
def burning(server):
    """A thread of the server uses a CPU meanwhile, in burn_cpu()."""
    get(server, "burn")
    yield
    get(server, "rest")


@pytest.fixture
def pprof(tmp_path):
    """pprof, which keeps what it fetches."""
    def program(*words):
        done = run(peer("pprof"), *words, limit_s=LIMIT_S, env={"PPROF_TMPDIR": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return program


def get(server, path):
    with urllib.request.urlopen(f"http://{server.address}/{path}", timeout=LIMIT_S) as answer:
        return answer.read()


def test_pprof_reads_the_cpu_profile_and_names_the_busy_function(server, burning, pprof):
    """pprof fetches the profile, which has the names of functions that no dynamic symbol names."""
    shown = pprof("-top", "-seconds=3", f"http://{server.address}/pages/pprof/profile")
    assert "Type: cpu" in shown
    busy = re.search(r"([\d.]+)%\s+\(anonymous namespace\)::burn_cpu", shown)
    assert busy, shown
    assert float(busy[1]) > 50, "the part of the CPU time, with that of its callees"


def test_pprof_tells_the_threads_of_the_cpu_profile_apart(server, burning, pprof, tmp_path):
    profile = tmp_path / "cpu.pb.gz"
    profile.write_bytes(get(server, "pages/pprof/profile?seconds=3"))
    assert "coracle/offload" in pprof("-tags", profile)


def test_pprof_reads_the_heap_profile_of_jemalloc_and_names_who_has_the_memory(pprof):
    recording = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "prof:true"}
    with Server(own("pages_server"), env=recording) as one:
        assert get(one, "hoard") == b"hoarded 67108863 bytes\n"
        shown = pprof("-top", f"http://{one.address}/pages/pprof/heap")
    assert "Type: inuse_space" in shown
    hoard = re.search(r"([\d.]+)MB\s+[\d.]+%\s+\(anonymous namespace\)::hoard_memory", shown)
    assert hoard, shown
    assert 64 <= float(hoard[1]) < 66, shown


def test_the_pages_of_loops_and_of_memory_lead_to_profiles(page, server):
    page.open(address(server, "loops"))
    page.expect(named("link", "CPU profile of 10 seconds"), "CPU profile")
    page.open(address(server, "memory"))
    page.expect(named("link", "Heap profile"), "Heap profile")


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
