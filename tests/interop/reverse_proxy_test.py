"""Clients of every protocol call the movie service through nginx, HAProxy and Envoy, each as examples/deployment configures it:
TLS ends at the proxy, and nothing waits there for the end of a stream."""

import base64
import contextlib
import http.client
import ipaddress
import json
import os
import queue
import re
import shutil
import socket
import ssl
import time

import pytest

import peers
import walk
from programs import ROOT, Background, Server, own

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

import grpc  # noqa: E402

import movie_stubs  # noqa: E402

movie_pb2, movie_pb2_grpc = movie_stubs.load()

SETTINGS = ROOT / "examples/deployment"
HOST = "movies.example"
LIMIT_S = 20
PATH = f"{os.environ['PATH']}:/usr/sbin"  # where Debian has servers
# A stream that a proxy collected would be over before its first message arrived.
LISTED, PAUSE_MS = 20, 300
UPLOADED, UPLOAD_BYTES = 3, 700_000  # each; nginx by itself ends a request above 1 MB
ADD, LIST = "/movie.MovieService/AddMovie", "/movie.MovieService/ListMovies"


def nginx(folder):
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr; events {{}}\nhttp {{\naccess_log off;\n"
        + "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        + f"include {folder}/proxy.settings;\n}}\n")
    return "nginx", "-e", "stderr", "-c", folder / "nginx.conf"


def haproxy(folder):
    return "haproxy", "-db", "-f", folder / "proxy.settings"


def envoy(folder):
    (folder / "proxy.settings").rename(folder / "envoy.yaml")
    return (peers.PYTHON.with_name("envoy"), "-c", folder / "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1", "--log-level",
            "error")


PROXIES = {"nginx": ("nginx.conf", nginx), "HAProxy": ("haproxy.cfg", haproxy), "Envoy": ("envoy.yaml", envoy)}


def settings(name, port, server, certificates, folder):
    """The settings of the guide, for the addresses and the certificate of this test."""
    text = (SETTINGS / name).read_text()
    both = folder / "tls.pem"
    both.write_text(certificates.server.read_text() + certificates.server_key.read_text())
    new = {"/etc/movies/tls.crt": certificates.server, "/etc/movies/tls.key": certificates.server_key, "/etc/movies/tls.pem": both,
           "50051": server.port, "443": port}
    # At once: the server's port may contain 443.
    return re.sub("|".join(map(re.escape, new)), lambda found: str(new[found[0]]), text)


class Proxy:
    """A proxy in front of a server, and clients that come through it."""

    def __init__(self, port, server, certificates):
        self.port, self.server = port, server
        self.trust = ssl.create_default_context(cafile=certificates.ca)
        self.trust.check_hostname = False
        self.channel = grpc.secure_channel(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(certificates.ca.read_bytes()),
                                           [("grpc.ssl_target_name_override", "localhost"), ("grpc.default_authority", HOST)])
        self.stub = movie_pb2_grpc.MovieServiceStub(self.channel)

    @contextlib.contextmanager
    def response(self, method, path, fields=(), body=None):
        """To a request of HTTP/1.1."""
        made = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=LIMIT_S, context=self.trust)
        with contextlib.closing(made) as connection:
            connection.request(method, path, body, {"host": HOST, **dict(fields)})
            yield connection.getresponse()

    def ask(self, *request):
        with self.response(*request) as response:
            return response.status, response.headers, response.read()

    def cancelled(self):
        """How many lists the server has not sent to their end because the client left."""
        return json.loads(self.ask("GET", "/v1/counts")[2]).get("cancelled", 0)


@contextlib.contextmanager
def running_proxy(kind, certificates, folder, changes=()):
    """A proxy of this kind in front of the movie server, with the settings of the guide and these changes."""
    file, command = PROXIES[kind]
    port = walk.free_port()
    with Server(own("web_server"), f"--host={HOST}") as server:
        text = settings(file, port, server, certificates, folder)
        for old, new in changes:
            assert old in text, f"the settings of {kind} have no {old!r}"
            text = text.replace(old, new)
        (folder / "proxy.settings").write_text(text)
        program, *words = command(folder)
        if not shutil.which(program, path=PATH):
            pytest.skip(f"there is no {program}; ./dev peers installs it")
        with Background(program, *words, env={"PATH": PATH}) as running:
            made = Proxy(port, server, certificates)
            try:
                grpc.channel_ready_future(made.channel).result(LIMIT_S)
            except grpc.FutureTimeoutError:
                pytest.fail(f"{kind} does not serve: {' | '.join(running.said[-5:])}")
            yield made
            made.channel.close()
            running.expect_alive()


@pytest.fixture(scope="module", params=PROXIES)
def reverse_proxy(request, certificates, tmp_path_factory):
    with running_proxy(request.param, certificates, tmp_path_factory.mktemp("proxy")) as made:
        yield made


# Connections of HTTP/1.1 to the server, which the proxy keeps and uses for the next client.
KEPT_HTTP1 = {"nginx": (), "HAProxy": ((" proto h2", ""), ("mode http", "mode http\n  http-reuse always")),
              "Envoy": (("http2_protocol_options: {}", "http_protocol_options: {}"),)}


@pytest.fixture(scope="module", params=KEPT_HTTP1)
def proxy_of_http1(request, certificates, tmp_path_factory):
    with running_proxy(request.param, certificates, tmp_path_factory.mktemp("proxy"), KEPT_HTTP1[request.param]) as made:
        yield made


def assert_this_machine(address):
    """Envoy puts another address of the machine in place of a loopback address."""
    with socket.socket() as one:
        one.bind((str(ipaddress.ip_address(address)), 0))


def message(body):
    return b"\0" + len(body).to_bytes(4, "big") + body


def test_a_grpc_call_brings_metadata_and_the_clients_address(reverse_proxy):
    metadata = [("x-echo-text", "a text")]
    reply, call = reverse_proxy.stub.AddMovie.with_call(movie_pb2.Movie(title="Nosferatu"), metadata=metadata, timeout=LIMIT_S)
    fields = dict(call.initial_metadata())
    assert int(reply.movie_id) > 0, "the id"
    assert fields["x-echo-text"] == "a text", "the metadata"
    assert_this_machine(fields["x-client-address"])


def test_a_grpc_call_that_fails_brings_its_details(reverse_proxy):
    with pytest.raises(grpc.RpcError) as failed:
        reverse_proxy.stub.AddMovie(movie_pb2.Movie(), timeout=LIMIT_S)
    assert failed.value.code() == grpc.StatusCode.INVALID_ARGUMENT, "the status"
    assert failed.value.details() == "a movie needs a title", "the message"
    assert b"is empty" in dict(failed.value.trailing_metadata())["grpc-status-details-bin"], "the details"


def test_messages_of_grpc_streams_pass_one_by_one(reverse_proxy):
    """The next request is not sent before the reply to the last one has come."""
    wanted = queue.SimpleQueue()
    replies = reverse_proxy.stub.WatchTogether(iter(wanted.get, None), timeout=LIMIT_S)
    for number in ("1", "2", "3"):
        wanted.put(movie_pb2.WatchTogetherRequest(movie_id=number))
        assert next(replies).movie.id == number, "the reply"
    wanted.put(None)
    assert list(replies) == [], "the replies that nothing asked for"


def test_a_grpc_stream_of_requests_may_be_long(reverse_proxy):
    movies = (movie_pb2.Movie(title="x" * UPLOAD_BYTES) for _ in range(UPLOADED))
    assert len(reverse_proxy.stub.AddMultipleMovies(movies, timeout=LIMIT_S).movie_ids) == UPLOADED, "the ids"


def test_the_other_protocols_pass_over_http1(reverse_proxy):
    movie = json.dumps({"title": "Faust"})
    for path in (ADD, "/v1/movies"):  # Connect, REST
        status, fields, body = reverse_proxy.ask("POST", path, {"content-type": "application/json"}, movie)
        assert status == 200 and int(json.loads(body)["movieId"]) > 0, f"the reply of {path}: {status} {body}"
        assert_this_machine(fields["x-client-address"])
    framed = message(movie_pb2.Movie(title="Faust").SerializeToString())
    status, _, body = reverse_proxy.ask("POST", ADD, {"content-type": "application/grpc-web+proto"}, framed)
    assert status == 200 and b"grpc-status:0" in body.replace(b" ", b""), f"the reply of gRPC-Web: {status} {body}"


LISTING = movie_pb2.ListMoviesRequest(pause_ms=PAUSE_MS).SerializeToString()
STREAMS = {
    "Connect": ("POST", LIST, {"content-type": "application/connect+json"}, message(json.dumps({"pauseMs": PAUSE_MS}).encode())),
    "gRPC-Web": ("POST", LIST, {"content-type": "application/grpc-web+proto"}, message(LISTING)),
    "gRPC-Web, text": ("POST", LIST, {"content-type": "application/grpc-web-text"}, base64.b64encode(message(LISTING))),
    "JSON lines": ("GET", f"/v1/movies?pauseMs={PAUSE_MS}"),
    "events": ("GET", f"/v1/movies?pauseMs={PAUSE_MS}", {"accept": "text/event-stream"}),
}


def test_streams_over_http1_begin_before_they_end_and_end_with_the_client(reverse_proxy):
    for number in range(LISTED):
        reverse_proxy.stub.AddMovie(movie_pb2.Movie(title=f"Movie {number}"), timeout=LIMIT_S)
    before = reverse_proxy.cancelled()
    with contextlib.ExitStack() as streams:
        for name, request in STREAMS.items():
            response = streams.enter_context(reverse_proxy.response(*request))
            assert (response.status, len(response.read(1))) == (200, 1), f"the first byte of {name}"
    end = time.monotonic() + LIMIT_S
    while reverse_proxy.cancelled() < before + len(STREAMS) and time.monotonic() < end:
        time.sleep(0.05)
    assert reverse_proxy.cancelled() == before + len(STREAMS), "the streams that the server ended when their clients had left"


def test_pages_of_the_public_address_may_call_and_others_may_not(reverse_proxy):
    for origin, expected in ((f"https://{HOST}", 200), ("https://another.example", 403)):
        status, *_ = reverse_proxy.ask("POST", ADD, {"content-type": "application/json", "origin": origin}, '{"title": "Faust"}')
        assert status == expected, f"the status for {origin}"


def test_hosts_that_are_not_allowed_reach_no_handler(reverse_proxy):
    status, *_ = reverse_proxy.ask("POST", ADD, {"content-type": "application/json", "host": "another.example"}, '{"title": "Faust"}')
    assert status == 421, "the status"


REFUSALS = {
    "no content-type": ("/nopage", {}),
    "another content-type": ("/nopage", {"content-type": "text/plain"}),
    "another origin": (ADD, {"origin": "https://another.example"}),
    "no such method": ("/no.Such/Method", {"content-type": "application/proto"}),
}


def test_a_refused_request_costs_no_request_of_another_client(proxy_of_http1):
    """The connection that the proxy keeps is still in the middle of the refused request if the server does not read on."""
    for name, (path, fields) in REFUSALS.items():
        for attempt, body in enumerate((b"abc", b"x" * 10_000, iter((b"abc", b"def")), b"x" * 300_000)):
            status, *_ = proxy_of_http1.ask("POST", path, fields, body)
            assert status in (403, 404, 415), f"the refusal for {name}, body {attempt}"
            for _ in range(3):
                assert proxy_of_http1.ask("GET", "/v1/counts")[0] == 200, f"the request after {name}, body {attempt}"
