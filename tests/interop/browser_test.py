"""Pages of another origin call the movie service from headless Chromium: connect-web, grpc-web, fetch and EventSource, over
HTTP/1.1, and over HTTP/2 with TLS."""

import collections
import contextlib
import functools
import http.client
import http.server
import json
import os
import shutil
import threading
import time

import pytest

import peers
from accessibility import chromium
from programs import ROOT, Server, own, run

SOURCES = ROOT / "tests/interop/peers/browser"
PROTOS = {"movie.proto": ROOT / "examples/02_movie", "counts.proto": SOURCES.parents[1], "google/rpc/error_details.proto": ROOT / "proto",
          "google/rpc/status.proto": ROOT / "proto"}
VISIT_LIMIT_S = 110

CONNECT = ["connect binary", "connect JSON", "connect-web as gRPC-Web"]
STREAMING = [*CONNECT, "grpc-web text"]  # grpc-web streams in its text form only
CLIENTS = [*STREAMING, "grpc-web binary"]

BYTES = [0, 255, 1, 128]
PAUSE_MS = 150
TIMEOUT_MS = 500
CANCELLED, INVALID_ARGUMENT, DEADLINE_EXCEEDED, UNIMPLEMENTED = 1, 3, 4, 12


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a page and its script, bundled as web applications are."""
    try:
        peers.install_browser()
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
    done = run(peers.command("node"), SOURCES / "visit.mjs", peers.BROWSER, chromium(), data=json.dumps(given), limit_s=VISIT_LIMIT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    return [Outcome(one.get("value"), one.get("error"), one["requests"]) for one in json.loads(done.stdout)]


def movie(title):
    return {"title": title, "yearOfProduction": 1922, "genres": [3]}


# Every call of the page whose origin is allowed, by its name here. The first add the movies that the lists have.
CALLS = {f"add by {client}": ["unary", {"client": client, "movie": movie(client)}] for client in CLIENTS}
CALLS |= {f"metadata by {client}": ["metadata", {"client": client, "movie": movie("with metadata"), "text": "a text", "bytes": BYTES}] for client in CLIENTS}
CALLS |= {f"failure by {client}": ["failure", {"client": client}] for client in CLIENTS}
CALLS |= {f"list by {client}": ["list", {"client": client, "pauseMs": 0}] for client in STREAMING}
CALLS |= {f"slow list by {client}": ["list", {"client": client, "pauseMs": PAUSE_MS}] for client in STREAMING}
CALLS |= {f"deadline by {client}": ["deadline", {"client": client, "timeoutMs": TIMEOUT_MS}] for client in STREAMING}
CALLS |= {f"cancel by {client}": ["cancel", {"client": client, "pauseMs": PAUSE_MS}] for client in STREAMING}
CALLS |= {f"upload by {client}": ["upload", {"client": client}] for client in CONNECT}
CALLS |= {"count by GET": ["countByGet", {"binary": True}], "count by GET with JSON": ["countByGet", {"binary": False}]}
CALLS |= {
    "post": ["post", {"movie": movie("by fetch"), "headers": {"x-echo-text": "a text"}}],
    "failing post": ["post", {"movie": {"title": ""}}],
    "lines": ["lines", {"pauseMs": PAUSE_MS}],
    "cancelled lines": ["cancelLines", {"pauseMs": PAUSE_MS}],
    "array": ["array", {}],
    "rest upload": ["restUpload", {"movies": [movie("One"), movie("Two")]}],
    "events": ["events", {"pauseMs": PAUSE_MS}],
    "open events": ["openEvents", {}],
    "unknown type": ["unknownType", {}],
    "connect sample": ["connectSample", {}], "grpc-web sample": ["grpcWebSample", {}], "REST sample": ["restSample", {}],
}


def counts(server, tls=False):
    """How many handlers of the movie service were called, and cancelled."""
    make = functools.partial(http.client.HTTPSConnection, context=__import__("ssl")._create_unverified_context()) if tls else http.client.HTTPConnection
    with contextlib.closing(make("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request("GET", "/v1/counts")
        reply = json.loads(connection.getresponse().read() or b"{}")
    return reply.get("called", 0), reply.get("cancelled", 0)


class Visited:
    """What the page saw over one kind of connection."""

    def __init__(self, tls, origin, flags):
        self.tls = tls
        with Server(own("web_server"), f"--origin={origin}", *flags) as server:
            given = {"host": f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"}
            self.outcomes = dict(zip(CALLS, visit(f"{origin}/", [[name, {**given, **words}] for name, words in CALLS.values()])))
            self.cancelled = self._wait_for_cancelled(server)
            server.expect_alive()
            assert server.stop() == 0, "the server's exit code"

    def _wait_for_cancelled(self, server):
        end = time.monotonic() + 10
        while (found := counts(server, self.tls)[1]) < 2 * len(STREAMING) + 1 and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def value(self, name):
        outcome = self.outcomes[name]
        assert outcome.error is None, f"{name}: {outcome.error}; requests: {outcome.requests}"
        return outcome.value

    def requests(self, name, kind=None):
        return [one for one in self.outcomes[name].requests if one["kind"] != "Preflight" and one.get("method") != "OPTIONS"]


@pytest.fixture(scope="module", params=["HTTP/1.1", "HTTP/2 with TLS"])
def visited(request, origin, certificates):
    tls = request.param != "HTTP/1.1"
    flags = ("--cert", certificates.server, "--key", certificates.server_key) if tls else ()
    return Visited(tls, origin, flags)


def test_debug(visited):
    for name, o in visited.outcomes.items():
        print(name, o.value, o.error, [(r.get("kind"), r.get("method"), r.get("status"), r.get("protocol")) for r in o.requests])
    print(visited.cancelled)
    assert 0
