"""The documentation builds as a site, without a warning, and can be read and searched from the disk."""

import contextlib
import functools
import html.parser
import http.server
import re
import threading
import urllib.parse

import pytest

import accessibility
import peers
import repository
import site_builder
from driven_page import driven_page
from programs import ROOT

SITE = site_builder.HOME / "site"
# One page of each kind: the landing page, a first step, a concept with a picture, a guide, a command, wide tables, the API.
KINDS_OF_PAGES = ["index.html", "start/quickstart.html", "concepts/loops.html", "guides/deadlines.html", "guides/from_grpcpp.html", "cli/call.html",
                  "reference/options.html", "reference/limits.html", "api/client/index.html", "api/client/channel.html"]


@pytest.fixture(scope="module")
def complaints():
    try:
        site_builder.install()
    except peers.Missing as reason:
        pytest.skip(str(reason))
    return site_builder.build()


@pytest.mark.timeout(300)
def test_the_site_builds_without_a_warning(complaints):
    assert not complaints, "\n".join(complaints)


def test_the_pages_request_nothing_from_other_servers(complaints):
    fetched = re.compile(r"""<(?:script|img|iframe)[^>]* src="(https?:[^"]*)"|<link[^>]* rel="stylesheet"[^>]* href="(https?:[^"]*)\"""")
    asked = {f"{page.relative_to(SITE)}: {found[0]}" for page in SITE.rglob("*.html") for found in fetched.finditer(page.read_text())}
    assert not asked


def test_the_pages_link_to_the_repository_and_to_their_sources(complaints):
    address = repository.address(repository.Tree(repository.ROOT))
    page = (SITE / "guides/deadlines.html").read_text()
    assert f'href="{address}"' in page
    assert f'href="{address}/edit/main/docs/guides/deadlines.md"' in page
    assert f'href="{address}/edit/main/CONTRIBUTING.md"' in (SITE / "source/CONTRIBUTING.html").read_text()


def test_the_sections_of_a_long_page_can_be_folded(complaints):
    for name, state in (("options", " open"), ("limits", "")):
        page = (SITE / f"reference/{name}.html").read_text()
        sections = (ROOT / f"docs/reference/{name}.md").read_text().count("\n## ")
        assert sections > 5 and page.count(f'<details class="fold"{state}>') == page.count("</details>") == sections


@pytest.mark.timeout(200)
def test_an_address_unfolds_the_section_that_it_names(complaints):
    with driven_page() as page:
        for place in ("names", "large-headers-and-trailers-of-a-response"):
            page.open(f"{(SITE / 'reference/limits.html').as_uri()}#{place}")
            assert page.count({"css": "details.fold[open]"}) == page.count({"css": f"details.fold[open] #{place}"}) == 1


@contextlib.contextmanager
def served():
    """The site over HTTP: its address."""
    handler = functools.partial(QuietHandler, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.mark.timeout(200)
@pytest.mark.parametrize("way", ["from the disk", "over HTTP"])
def test_the_searches_find_pages_and_classes(chromium, complaints, way):
    with served() as address:
        root = SITE.as_uri() if way == "from the disk" else address
        for word, page in {"deadline": "guides/deadlines.html", "not_found": "api/messages/status.html", "rest_methods": "api/client/rest_methods.html"}.items():
            view, = accessibility.look(f"{root}/index.html", themes=["light"], widths=[1280], search=word)
            assert not view["slips"]
            found = {link.removeprefix(f"{root}/").partition("?")[0].partition("#")[0] for link in view["found"]}
            assert page in found, f"the search for {word} found {found or 'nothing'}"
            assert "reference/contest.html" not in found, "a table of raw data is in the search"


@pytest.mark.timeout(400)
def test_the_pages_can_be_used_without_a_mouse_and_good_eyes(chromium, complaints):
    """axe finds nothing serious; Tab leads through the navigation to the content, and what it reaches can be seen."""
    views = accessibility.look(*((SITE / page).as_uri() for page in KINDS_OF_PAGES))
    assert not accessibility.faults(views)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("page", ["guides/deadlines.html", "api/testing/index.html"])
def test_tab_leads_through_the_navigation_to_the_content(chromium, complaints, page):
    views = accessibility.look((SITE / page).as_uri(), themes=["light"], tabs=60)
    assert not accessibility.lost_stops(views)
    for view in views:
        stops = [stop for stop in view["stops"] if stop]
        assert stops[0]["name"] == "Skip to content", stops[0]
        places = {stop["place"] for stop in stops}
        assert {"navigation", "content"} <= places, f"{accessibility.named(view)}: Tab leads to {places}"


class Links(html.parser.HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.targets, self.places = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        self.targets |= {given[name] for name in ("href", "src") if given.get(name)}


def test_the_links_within_the_site_lead_somewhere(complaints):
    pages = {page: Links(page.read_text(errors="replace")) for page in SITE.rglob("*.html") if "search" not in page.parts}
    broken = set()
    for page, links in pages.items():
        for target in links.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            base = SITE if parts.path.startswith("/") else page.parent
            file = (base / urllib.parse.unquote(parts.path).lstrip("/")).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            place = urllib.parse.unquote(parts.fragment)
            if not file.is_file() or place and file in pages and place not in pages[file].places:
                broken.add(f"{page.relative_to(SITE)}: {target}")
    assert len(pages) > 100 and not broken, "\n".join(sorted(broken)[:50])


def test_a_class_has_a_page_that_looks_like_the_site(complaints):
    channel = (SITE / "api/client/channel.html").read_text()
    assert "Dropping a handle" in channel, "the comment of the class is not there"
    assert "#include &lt;coracle/client.hpp&gt;" in channel, "it does not show the header that programs include"
    assert 'class="md-tabs"' in channel and '<a href="../../index.html"' in channel, "it has no navigation of the site"
    assert 'class="highlight"' in (SITE / "api/client/channel_options.html").read_text(), "an example is not shown as code"


def test_names_on_other_pages_lead_into_the_api_reference(complaints):
    linked = {(page, link) for page in SITE.glob("*/*.html") if page.parent.name != "api" for link in re.findall(r'href="(\.\./api/[^"#]+)', page.read_text())}
    assert len(linked) > 100, "the pages link to almost nothing of the API reference"
    missing = sorted(f"{page.name}: {link}" for page, link in linked if not (page.parent / link).is_file())
    assert not missing


def test_a_name_without_its_namespace_leads_into_the_api_reference(complaints):
    page = (SITE / "help/troubleshooting.html").read_text()
    assert '<a href="../api/security/tls.client_options.html#cas"><code>client_options::cas</code></a>' in page


def test_the_api_reference_lists_what_programs_name(complaints):
    pages = {page.stem for page in SITE.glob("api/*/*.html")}
    assert {"server", "channel", "status", "queue", "tls.client_options", "sim.world"} <= pages
    assert not {page for page in pages if re.search("awaiter|promise|_internal", page)}
