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
