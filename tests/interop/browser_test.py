"""Pages of another origin call the movie service from headless Chromium: connect-web, grpc-web, fetch and EventSource, over
HTTP/1.1, and over HTTP/2 with TLS.

CORACLE_BROWSER_ALL=1 has every client call over TLS, too, instead of one of each kind.
"""

import collections
import contextlib
import functools
import http.client
import http.server
import json
import os
import shutil
import ssl
import threading
import time

import pytest

import accessibility
import peers
from programs import ROOT, Server, own, run

SOURCES = ROOT / "tests/interop/peers/browser"
PROTOS = {"movie.proto": ROOT / "examples/02_movie", "counts.proto": SOURCES.parents[1], "google/rpc/error_details.proto": ROOT / "proto",
          "google/rpc/status.proto": ROOT / "proto"}
VISIT_LIMIT_S = 110
# Every client over every kind of connection, and not just over HTTP/1.1.
EVERYTHING = bool(os.environ.get("CORACLE_BROWSER_ALL"))
CONNECTIONS = {"HTTP/1.1": "http/1.1", "HTTP/2 with TLS": "h2"}  # and what Chromium calls the protocol

CONNECT = ["connect binary", "connect JSON", "connect-web as gRPC-Web"]
STREAMING = [*CONNECT, "grpc-web text"]  # grpc-web streams in its text form only
CLIENTS = [*STREAMING, "grpc-web binary"]
ONE_OF_EACH = ["connect binary", "grpc-web text"]

BYTES = [0, 255, 1, 128]
PAUSE_MS = 100
TIMEOUT_MS = 400
CANCELLED, INVALID_ARGUMENT, DEADLINE_EXCEEDED = 1, 3, 4
CANCEL_LIMIT_S = 10


@pytest.fixture(scope="module")
def site(chromium, tmp_path_factory):
    """A folder with a page and its script, bundled as web applications are."""
    try:
        peers.install_web()
    except peers.Missing as reason:
        pytest.skip(str(reason))
    scratch, folder, modules = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("site"), peers.WEB / "node_modules"
    done = run("protoc", *(f"-I{path}" for path in dict.fromkeys(PROTOS.values())), f"--plugin={modules}/.bin/protoc-gen-es",
               f"--es_out={scratch}", "--es_opt=target=js,import_extension=js", *PROTOS)
    assert done.returncode == 0, done.stderr
    for source in SOURCES.glob("*.js"):
        shutil.copy(source, scratch)
    done = run(modules / ".bin/esbuild", scratch / "page.js", "--bundle", "--format=esm", f"--outfile={folder}/bundle.js", "--log-level=warning",
               env={"NODE_PATH": str(modules)})
    assert done.returncode == 0 and not done.stderr, done.stderr
    shutil.copy(SOURCES / "index.html", folder)
    return folder


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def origin(site):
    """Where the page is: its host is another than the server's."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


Outcome = collections.namedtuple("Outcome", "value error requests")


def visit(page, calls, script=None):
    """What the page's calls, each [name, arguments], lead to."""
    given = {"page": page, "calls": calls, "script": str(script) if script else None}
    done = run(peers.command("node"), SOURCES / "visit.mjs", peers.BROWSER, accessibility.chromium(), data=json.dumps(given), limit_s=VISIT_LIMIT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    return [Outcome(one.get("value"), one.get("error"), one["requests"]) for one in json.loads(done.stdout)]


def movie(title):
    return {"title": title, "yearOfProduction": 1922, "genres": [3]}


def covers(connection, client=None):
    return EVERYTHING or connection == "HTTP/1.1" or client in ONE_OF_EACH


def pairs(clients):
    """Parameters of a test: a kind of connection, and a client over it."""
    return pytest.mark.parametrize(("visited", "client"), [(connection, client) for connection in CONNECTIONS for client in clients
                                                           if covers(connection, client)], indirect=["visited"])


def calls(connection):
    """The calls of a page whose origin is allowed, by their names here. The first add the movies that the lists have."""
    clients, streaming, connect = ([one for one in some if covers(connection, one)] for some in (CLIENTS, STREAMING, CONNECT))
    all_calls = {f"add by {client}": ["unary", {"client": client, "movie": movie(client)}] for client in clients}
    all_calls |= {f"list by {client}": ["list", {"client": client, "pauseMs": PAUSE_MS}] for client in streaming}
    all_calls |= {f"deadline by {client}": ["deadline", {"client": client, "timeoutMs": TIMEOUT_MS}] for client in streaming}
    all_calls |= {f"cancel by {client}": ["cancel", {"client": client, "pauseMs": PAUSE_MS}] for client in streaming}
    all_calls |= {
        "lines": ["lines", {"pauseMs": PAUSE_MS}],
        "cancelled lines": ["cancelLines", {"pauseMs": PAUSE_MS}],
        "array": ["array", {}],
        "events": ["events", {"pauseMs": PAUSE_MS}],
    }
    if covers(connection):
        all_calls |= {"events of a page that does not close them": ["openEvents", {}]}
    all_calls |= {f"failure by {client}": ["failure", {"client": client}] for client in clients}
    all_calls |= {f"upload by {client}": ["upload", {"client": client}] for client in connect}
    all_calls |= {f"metadata by {client}": ["metadata", {"client": client, "movie": movie("with metadata"), "text": "a text", "bytes": BYTES}]
                  for client in clients}
    all_calls |= {
        "count by GET": ["countByGet", {"binary": True}],
        "count by GET with JSON": ["countByGet", {"binary": False}],
        "post": ["post", {"movie": movie("by fetch"), "headers": {"x-echo-text": "a text"}}],
        "failing post": ["post", {"movie": {"title": ""}}],
        "rest upload": ["restUpload", {"movies": [movie("One"), movie("Two")]}],
        "unknown type": ["unknownType", {}],
        "sample of connect-web": ["connectSample", {}],
        "sample of grpc-web": ["grpcWebSample", {}],
        "sample of REST": ["restSample", {}],
    }
    return all_calls


def ask(server, path, fields=None, method="GET", body=None, tls=False):
    """Status, fields and body of the response to a request without a browser."""
    secured = {"context": ssl._create_unverified_context()} if tls else {}
    make = http.client.HTTPSConnection if tls else http.client.HTTPConnection
    with contextlib.closing(make("127.0.0.1", server.port, timeout=10, **secured)) as connection:
        connection.request(method, path, body, fields or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def counts(server, tls=False):
    """How many handlers of the movie service were called, and how many were cancelled."""
    status, _, body = ask(server, "/v1/counts", tls=tls)
    assert status == 200, "the status of /v1/counts"
    reply = json.loads(body)
    return reply.get("called", 0), reply.get("cancelled", 0)


class Visited:
    """What the page saw over one kind of connection."""

    def __init__(self, connection, origin, certificates):
        self.protocol = CONNECTIONS[connection]
        tls = self.protocol == "h2"
        names = calls(connection)
        self.to_cancel = sum(name.startswith(("deadline", "cancel")) for name in names)
        with Server(own("web_server"), f"--origin={origin}", *flags(tls, certificates)) as server:
            self.outcomes = dict(zip(names, visit(f"{origin}/", on(server, names.values(), tls))))
            end = time.monotonic() + CANCEL_LIMIT_S
            while counts(server, tls)[1] < self.to_cancel and time.monotonic() < end:
                time.sleep(0.05)
            self.cancelled = counts(server, tls)[1]
            assert server.stop() == 0, "the server's exit code"

    def value(self, name):
        outcome = self.outcomes[name]
        assert outcome.error is None, f"{name}: {outcome.error}; requests: {outcome.requests}"
        assert {one["protocol"] for one in outcome.requests} <= {self.protocol}, f"the protocols of {outcome.requests}"
        return outcome.value

    def requests(self, name):
        """Method and status of each, but for those that ask whether another may be made."""
        return [(one["method"], one["status"]) for one in self.outcomes[name].requests if one["method"] != "OPTIONS"]


def flags(tls, certificates):
    return ("--cert", certificates.server, "--key", certificates.server_key) if tls else ()


def on(server, some, tls=False):
    """The calls, with the server's address among their arguments."""
    host = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
    return [[name, {"host": host, **words}] for name, words in some]


@pytest.fixture(scope="module")
def visits(origin, certificates):
    """Makes the visit over a kind of connection, once."""
    return functools.cache(lambda connection: Visited(connection, origin, certificates))


@pytest.fixture(params=CONNECTIONS)
def visited(request, visits):
    return visits(request.param)


def added(visited):
    """The titles of the movies that were there before the lists."""
    return [name.removeprefix("add by ") for name in visited.outcomes if name.startswith("add by ")]


@pairs(CLIENTS)
def test_a_unary_call_returns_its_reply(visited, client):
    assert visited.value(f"add by {client}")["movieId"] == str(added(visited).index(client) + 1)


@pairs(STREAMING)
def test_the_messages_of_a_stream_arrive_as_they_are_sent(visited, client):
    listed = visited.value(f"list by {client}")
    assert listed["titles"] == added(visited)
    assert_no_delay(listed)


def assert_no_delay(listed):
    """All but the first message come at least a pause after the one before."""
    pauses = len(listed["titles"]) - 1
    assert listed["aheadMs"] >= pauses * PAUSE_MS / 2, f"the first message came {listed['aheadMs']} ms before the end, after {pauses} pauses"


@pairs(CLIENTS)
def test_an_error_arrives_with_its_details(visited, client):
    assert visited.value(f"failure by {client}") == {"code": INVALID_ARGUMENT, "message": "a movie needs a title",
                                                     "violations": [["title", "is empty"]]}


@pairs(CLIENTS)
def test_metadata_goes_both_ways(visited, client):
    back = visited.value(f"metadata by {client}")
    assert (back["text"], back["bytes"]) == ("a text", BYTES)


@pairs(STREAMING)
def test_a_deadline_reaches_the_server(visited, client):
    failure = visited.value(f"deadline by {client}")
    assert failure["code"] == DEADLINE_EXCEEDED, failure
    if client in CONNECT:  # which has a timer of its own
        assert 0 < int(failure["left"]) <= TIMEOUT_MS, "the time that the handler had"
    else:
        assert failure["message"] == "the client's deadline passed", "the server's message"


@pairs(STREAMING)
def test_a_call_is_cancelled_from_the_page(visited, client):
    assert visited.value(f"cancel by {client}")["code"] == CANCELLED


def test_deadlines_and_cancelled_calls_end_the_handlers(visited):
    assert visited.cancelled == visited.to_cancel


@pairs(CONNECT)
def test_the_client_does_not_stream_requests(visited, client):
    assert "does not support streaming request bodies" in visited.value(f"upload by {client}")["message"]


@pytest.mark.parametrize("call", ["count by GET", "count by GET with JSON"])
def test_a_method_without_side_effects_is_called_by_get(visited, call):
    assert visited.value(call) > 0
    assert visited.requests(call) == [("GET", 200)]


def test_a_preflight_is_asked_for_once(visited):
    """The browser keeps the answer, for each path; the client of the first call differs in nothing but the content type."""
    first, *others = (visited.outcomes[f"add by {title}"].requests for title in added(visited) if title in CONNECT)
    assert sorted(one["method"] for one in first) == ["OPTIONS", "POST"]
    assert all([one["method"] for one in other] == ["POST"] for other in others)


def test_fetch_calls_a_rest_route(visited):
    reply = visited.value("post")
    assert reply["status"] == 200 and int(reply["body"]["movieId"]) > 0, reply
    assert reply["text"] == "a text", "the metadata"


def test_fetch_reads_the_details_of_an_error(visited):
    reply = visited.value("failing post")
    assert reply["status"] == 400 and reply["body"]["code"] == INVALID_ARGUMENT, reply
    assert reply["body"]["details"][0]["fieldViolations"] == [{"field": "title", "description": "is empty"}]


def test_fetch_reads_lines_of_json_as_they_are_sent(visited):
    listed = visited.value("lines")
    assert listed["titles"] == added(visited)
    assert_no_delay(listed)


def test_fetch_reads_a_stream_as_an_array(visited):
    assert [one["title"] for one in visited.value("array")] == added(visited)


def test_fetch_sends_lines_of_json(visited):
    assert len(visited.value("rest upload")["movieIds"]) == 2


def test_fetch_cancels_a_stream(visited):
    assert visited.value("cancelled lines") == "AbortError"


def test_an_event_source_gets_each_message_and_the_status(visited):
    listed = visited.value("events")
    assert listed["titles"] == added(visited)
    assert listed["outcome"]["code"] == 0
    assert_no_delay(listed)


@pytest.mark.parametrize("visited", [one for one in CONNECTIONS if covers(one)], indirect=True)
def test_an_event_source_that_reconnects_after_the_end_is_stopped(visited):
    name = "events of a page that does not close them"
    assert visited.value(name) == {"titles": added(visited), "outcome": "Error"}
    assert visited.requests(name) == [("GET", 200), ("GET", 204)]


def test_a_page_reads_why_a_request_is_no_call(visited):
    reply = visited.value("unknown type")
    assert reply["status"] == 415 and "content-type" in reply["text"], reply


@pytest.mark.parametrize("library", ["connect-web", "grpc-web", "REST"])
def test_the_samples_of_the_guide_run(visited, library):
    seen = visited.value(f"sample of {library}")
    assert int(seen["movieId"]) > 0 and seen["titles"][-1] == "Nosferatu", seen


# What a page of an origin that is not allowed tries. Some of it needs no permission of the server to be sent.
REFUSED = {f"by {client}": ["unary", {"client": client, "movie": movie("Theirs")}] for client in CLIENTS}
REFUSED |= {name: [name, {"movie": movie("Theirs")}] for name in ("simpleGet", "opaqueGet", "opaquePost", "formPost", "refusedEvents", "refusedPost")}


@pytest.mark.parametrize("connection", CONNECTIONS if EVERYTHING else ["HTTP/1.1"])
def test_an_origin_that_is_not_allowed_reaches_no_handler(origin, certificates, connection):
    tls = connection != "HTTP/1.1"
    with Server(own("web_server"), "--origin=https://another.example", *flags(tls, certificates)) as server:
        outcomes = dict(zip(REFUSED, visit(f"{origin}/", on(server, REFUSED.values(), tls))))
        assert counts(server, tls) == (0, 0), "the handlers that were called"
    for name, outcome in outcomes.items():
        # What needed permission was not sent, and has no status.
        assert {one["status"] for one in outcome.requests if "status" in one} == {403}, f"{name}: {outcome.requests}"
        if name.startswith("by "):
            assert outcome.error, f"{name}: {outcome.value}"
        else:
            assert outcome.value in ("TypeError", "Error", "opaque"), f"{name}: {outcome.value}"


def test_pages_of_the_servers_own_origin_may_call(site):
    """The movie_server of the examples, with the options that servers have by default, and JSON."""
    with Server(own("movie_server"), "--port=0") as server:
        made = on(server, [["unary", {"client": client, "movie": movie(client)}] for client in CLIENTS] +
                  [["list", {"client": client, "pauseMs": 0}] for client in STREAMING])
        answered = visit(f"http://127.0.0.1:{server.port}/", made, script=site / "bundle.js")
    assert not [one.error for one in answered if one.error]
    assert answered[-1].value["titles"] == list(CLIENTS)


# Requests as they would be sent without asking first: path, method, content type, body.
FORGED = {
    "gRPC-Web": ("/movie.MovieService/AddMovie", "POST", "application/grpc-web+proto", b"\0\0\0\0\x04\x12\x02It"),
    "gRPC-Web text": ("/movie.MovieService/AddMovie", "POST", "application/grpc-web-text", b"AAAAAAQSAkl0"),
    "Connect": ("/movie.MovieService/AddMovie", "POST", "application/proto", b"\x12\x02It"),
    "Connect with JSON": ("/movie.MovieService/AddMovie", "POST", "application/json", b'{"title": "It"}'),
    "REST": ("/v1/movies", "POST", "application/json", b'{"title": "It"}'),
    "REST by GET": ("/v1/movies", "GET", None, None),
}
FROM = {"another origin": {"origin": "https://evil.example"}, "no origin": {"origin": "null"}, "another site": {"sec-fetch-site": "cross-site"}}


@pytest.mark.parametrize("of", FROM)
def test_requests_that_did_not_ask_first_reach_no_handler(of):
    with Server(own("web_server"), "--origin=http://localhost:3000") as server:
        for name, (path, method, content_type, body) in FORGED.items():
            typed = {"content-type": content_type} if content_type else {}
            status, fields, _ = ask(server, path, {**typed, **FROM[of]}, method, body)
            assert status == 403 and "access-control-allow-origin" not in fields, name
        assert counts(server) == (0, 0), "the handlers that were called"
        for name, (path, method, content_type, body) in FORGED.items():
            status, fields, _ = ask(server, path, {"content-type": content_type or "", "origin": "http://localhost:3000"}, method, body)
            assert status == 200 and fields["access-control-allow-origin"] == "http://localhost:3000", name
        assert counts(server)[0] == len(FORGED), "the handlers that were called for the allowed origin"


def events(body):
    return [dict(line.split(": ", 1) for line in event.splitlines()) for event in body.decode().strip().split("\n\n")]


def test_events_have_ids_and_a_reconnect_is_answered_with_204():
    listing = {"accept": "text/event-stream", "origin": "http://localhost:3000"}
    with Server(own("web_server"), "--origin=http://localhost:3000") as server:
        assert [one["id"] for one in events(ask(server, "/v1/movies", listing)[2])] == ["end"], "the ids of a stream without messages"
        for title in ("One", "Two"):
            assert ask(server, "/v1/movies", {"content-type": "application/json"}, "POST", json.dumps(movie(title)))[0] == 200
        assert [one["id"] for one in events(ask(server, "/v1/movies", listing)[2])] == ["1", "2", "end"]
        before = counts(server)
        for last in ("1", "end"):
            status, fields, _ = ask(server, "/v1/movies", {**listing, "last-event-id": last})
            assert status == 204 and fields["access-control-allow-origin"] == "http://localhost:3000", f"after the event {last}"
        assert counts(server) == before, "the handlers that were called"


def test_a_stream_that_was_cut_continues_if_the_handler_reads_the_last_id():
    with Server(own("web_server"), "--continue=yes") as server:
        for title in ("One", "Two", "Three"):
            assert ask(server, "/v1/movies", {"content-type": "application/json"}, "POST", json.dumps(movie(title)))[0] == 200
        status, _, body = ask(server, "/v1/movies", {"accept": "text/event-stream", "last-event-id": "1"})
        assert status == 200 and [one["id"] for one in events(body)] == ["2", "3", "end"]
        assert "Two" in events(body)[0]["data"]
        assert ask(server, "/v1/movies", {"accept": "text/event-stream", "last-event-id": "end"})[0] == 204
