"""The documentation builds as a site, without a warning, and can be read and searched from the disk."""

import re
import shutil
import subprocess

import pytest

import peers
import site_builder

SITE = site_builder.HOME / "site"


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


def test_the_search_works_from_the_disk(complaints, tmp_path):
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        pytest.skip("there is no Chromium; scripts/packages.sh test installs it")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000",
                           "--dump-dom", f"{(SITE / 'index.html').as_uri()}?q=deadline"], capture_output=True, text=True, timeout=60)
    results = re.findall(r'<a href="[^"]*/site/([\w/]+\.html)[^"]*" class="md-search-result__link"', done.stdout)
    assert "guides/deadlines.html" in results, f"the search found {results or 'nothing'}"
    assert "reference/contest.html" not in results, "a table of raw data is in the search"


def test_the_links_into_the_api_reference_lead_to_its_pages(complaints):
    linked = {(page, link) for page in SITE.glob("reference/*.html") for link in re.findall(r'href="(\.\./api/[^"#]+)', page.read_text())}
    assert len(linked) > 10, "the pages link to almost nothing of the API reference"
    missing = sorted(f"{page.name}: {link}" for page, link in linked if not (page.parent / link).is_file())
    assert not missing
    channel = (SITE / "api/classcoracle_1_1channel.html").read_text()
    assert "Dropping a handle" in channel, "the comment of the class is not there"
    assert 'class="fragment"' in channel, "its example is not shown as code"
