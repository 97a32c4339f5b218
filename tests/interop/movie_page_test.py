"""The page of examples/12_web in headless Chromium, and what else its server answers."""

import http.client
import json

import pytest

import accessibility
import peers
from programs import ROOT, Server, own, run

SOURCES = ROOT / "tests/interop/peers/browser"
PAGE = ROOT / "examples/12_web/page"
VISIT_LIMIT_S = 60


@pytest.fixture
def server():
    with Server(own("movie_web_server"), "--port=0", "--page", PAGE) as one:
        yield one
        assert one.stop() == 0, "the server's exit code"


def visit(chromium, address):
    done = run(peers.command("node"), SOURCES / "movie_page.mjs", peers.BROWSER, chromium, address, limit_s=VISIT_LIMIT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_a_person_adds_movies_and_sees_those_of_others(chromium, server):
    seen = visit(chromium, f"http://127.0.0.1:{server.port}/")
    assert seen["title"] == "Movies"
    assert seen["added"].splitlines()[1:] == ["<b>Stalker</b>", "1979 · Andrei Tarkovsky · sci-fi"], "text of a client is never HTML"
    assert seen["error"] == "a movie needs a title" and seen["marked"] == "true"
    assert "1927 · Fritz Lang · sci-fi" in seen["idea"] and len(seen["ideas"]) == 5 and "Metropolis" not in seen["ideas"], "an idea is added once"
    assert "Mirror" in seen["elsewhere"] and seen["count"] == "3", "a movie that another client has added"
    assert {seen["encodings"][path] for path in ("/", "/app.js", "/style.css")} == {"gzip"}, seen["encodings"]
    assert all("status of 400" in one for one in seen["faults"]), seen["faults"]  # of the movie without a title


@pytest.mark.usefixtures("chromium")
def test_the_page_can_be_used_without_a_mouse_or_good_eyes(server):
    views = accessibility.look(f"http://127.0.0.1:{server.port}/", tabs=5)
    assert not accessibility.faults(views) + accessibility.lost_stops(views)


def test_the_page_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Server(own("movie_web_server"), "--port=0") as one:
        connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=10)
        connection.request("GET", "/")
        assert b"<title>Movies</title>" in connection.getresponse().read()
        connection.close()


def test_events_continue_after_the_last_one(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    for title in ("One", "Two"):
        connection.request("POST", "/v1/movies", json.dumps({"title": title}), {"content-type": "application/json"})
        assert connection.getresponse().read(), "the reply"
    connection.request("GET", "/events", headers={"last-event-id": "1"})
    events = connection.getresponse()
    assert events.headers["content-type"] == "text/event-stream"
    assert [events.readline().decode() for _ in range(2)] == ["id: 2\n", 'data: {"id":"2","title":"Two"}\n']
    connection.close()
