"""Whether people can use a page without a mouse or good eyes: what axe finds in Chromium, and where the Tab key leads."""

import json
import pathlib
import shutil

import pytest

import peers
from programs import run

DRIVER = pathlib.Path(__file__).with_suffix(".mjs")
THEMES = ("light", "dark")
WIDTHS = (1280, 390)  # a desk's and a telephone's
LIMIT_S = 240


def chromium():
    for name in ("chromium-headless-shell", "chromium"):
        found = shutil.which(name)
        if found:
            return found
    pytest.skip("there is no Chromium; scripts/packages.sh test installs it")


def look(*urls, themes=THEMES, widths=WIDTHS, tabs=0, search=None):
    """Each page in each theme and width: {url, theme, width, violations, stops, slips, found}. The search is for a word."""
    try:
        peers.install_browser()
        node = peers.command("node")
    except peers.Missing as reason:
        pytest.skip(str(reason))
    views = [{"url": url, "theme": theme, "width": width, "tabs": tabs, "search": search} for url in urls for theme in themes for width in widths]
    done = run(node, DRIVER, peers.BROWSER, chromium(), data=json.dumps(views), limit_s=LIMIT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def named(view):
    return f"{view['url'].rpartition('/')[2]}, {view['theme']}, {view['width']} px"


def faults(views):
    """What keeps people from using the pages, a line each."""
    found = [f"{named(view)}: {slip}" for view in views for slip in view["slips"]]
    return found + [f"{named(view)}: {one['rule']}: {one['help']}: {node}" for view in views for one in view["violations"] for node in one["nodes"]]


def lost_stops(views):
    """Where Tab leads without a sign of it."""
    return [f"{named(view)}: {stop['name']!r} ({stop['tag']})" for view in views for stop in view["stops"]
            if stop and not (stop["visible"] and stop["onScreen"])]
