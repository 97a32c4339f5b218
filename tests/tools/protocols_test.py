"""coracle call and load in every protocol of a port, over HTTP/1.1, HTTP/2 and TLS."""

import json

import pytest

from coracle_command import USAGE, coracle, objects
from programs import run, own
from web_server import MOVIES, RULES, web_server

NOT_FOUND, INVALID_ARGUMENT = 5, 3
PROTOCOLS = {"grpc": "gRPC", "grpc-web": "gRPC-Web", "grpc-web-text": "gRPC-Web text", "connect": "Connect", "rest": "REST"}
ALIEN = ("AddMovie", "-d", '{"title": "Alien"}')


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """Of a service that the definitions lack, too."""
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    path.write_text(RULES)
    return path


@pytest.fixture
def server():
    with web_server() as one:
        yield one


@pytest.fixture(scope="module")
def secured(certificates):
    with web_server("--cert", certificates.server, "--key", certificates.server_key) as one:
        yield one


@pytest.fixture
def words(rules):
    """What a command line has for the protocol."""
    def of(protocol):
        return (*MOVIES, "--protocol", protocol, *(("--http-rules", rules) if protocol == "rest" else ()))
    return of


@pytest.mark.parametrize("http", ["", "2"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_call_speaks_every_protocol(server, words, protocol, http):
    def call(*more, code=0):
        version = ("--http", http) if http else ()
        return coracle("call", f"http://{server.address}", *words(protocol), *version, *more, code=code)
    assert json.loads(call(*ALIEN).stdout) == {"movieId": "1"}
    many = call("AddMultipleMovies", "-d", '{"title": "Heat"} {"title": "Jaws"}')
    assert json.loads(many.stdout) == {"movieIds": ["2", "3"]}
    assert [one["title"] for one in objects(call("ListMovies").stdout)] == ["Alien", "Heat", "Jaws"]
    failed = call("AddMovie", "-d", "{}", "--format", "json", code=INVALID_ARGUMENT)
    error = json.loads(failed.stderr.splitlines()[-1])
    assert error["message"] == "a movie needs a title" and error["details"][0]["fieldViolations"][0]["field"] == "title"
    if protocol == "rest":
        return
    # Both ways at once: over HTTP/1.1, a server may respond before the request has ended.
    watched = call("WatchTogether", "-d", '{"movieId": "1"} {"movieId": "7"}')
    assert [one["movie"]["id"] for one in objects(watched.stdout)] == ["1", "7"]


def heads(done):
    return [line for line in done.stderr.splitlines() if line.startswith(("> ", "< "))]


@pytest.mark.parametrize("protocol, first, content", [
    ("grpc", "> :method: POST", "> content-type: application/grpc"),
    ("grpc-web", "> POST /movie.MovieService/AddMovie HTTP/1.1", "> content-type: application/grpc-web+proto"),
    ("connect", "> POST /movie.MovieService/AddMovie HTTP/1.1", "> connect-protocol-version: 1"),
    ("rest", "> POST /v1/movies HTTP/1.1", "> content-type: application/json")])
def test_verbose_shows_http(server, words, protocol, first, content):
    done = coracle("call", server.address, "-p", *words(protocol), *ALIEN, "-v", "-H", "x-echo-text: hello")
    status = "< :status: 200" if protocol == "grpc" else "< HTTP/1.1 200"
    authority = ":authority" if protocol == "grpc" else "host"
    for line in (first, content, f"> {authority}: {server.address}", "> x-echo-text: hello", status, "< x-echo-text: hello"):
        assert line in heads(done), f"{line!r} is not in {done.stderr!r}"
    assert done.stderr.splitlines()[-1].startswith("< OK"), "the status"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_call_uses_tls(secured, certificates, words, protocol):
    done = coracle("call", f"https://{secured.address}", "--ca", certificates.ca, *words(protocol), *ALIEN)
    assert int(json.loads(done.stdout)["movieId"]) > 0


def test_what_does_not_fit_is_an_error_in_the_command_line(server, rules):
    for more, text in ((("--http", "1.1"), "gRPC requires HTTP/2"),
                       (("--protocol", "rest"), "movie.MovieService.AddMovie has no rule of google.api.http")):
        for command in ("call", "load"):
            done = coracle(command, server.address, "-p", *MOVIES, *ALIEN, *more, code=USAGE)
            assert text in done.stderr, f"it says {done.stderr!r}"
    done = coracle("call", server.address, "-p", *MOVIES, "WatchTogether", "--protocol", "rest", "--http-rules", rules, code=USAGE)
    assert "movie.MovieService.WatchTogether has no rule" in done.stderr, f"it says {done.stderr!r}"
    rules_with_a_fault = rules.with_name("fault.json")
    rules_with_a_fault.write_text('{"http": {"rules": [{"selector": "movie.MovieService.AddMovie", "get": "/{nothing}"}]}}')
    done = coracle("call", server.address, "-p", *MOVIES, *ALIEN, "--protocol", "rest", "--http-rules", rules_with_a_fault, code=65)
    assert "has no field nothing" in done.stderr, f"it says {done.stderr!r}"


def loaded(*words):
    done = run(own("coracle"), "load", *words, "--json", "-", limit_s=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_load_speaks_every_protocol(server, words, protocol):
    for method, sent in ((ALIEN, 1), (("AddMultipleMovies", "-d", '{"title": "Heat"}', "--messages", "3"), 3), (("ListMovies",), 1)):
        found, = loaded(f"http://{server.address}", *words(protocol), *method, "-n", "20", "-c", "4") if protocol != "grpc" else \
            loaded(server.address, "-p", *words(protocol), *method, "-n", "20", "-c", "4")
        assert (found["name"], found["ok"], found["failed"]) == (PROTOCOLS[protocol], 20, 0), f"{found['statuses']}"
        assert found["messages_sent"] == 20 * sent
        assert found["wire_bytes_sent"] > found["bytes_sent"] > 0 or method[0] == "ListMovies"
    assert found["messages_received"] == 20 * 80, "the movies that each listing has"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_load_uses_tls(secured, certificates, words, protocol):
    found, = loaded(secured.address, "--ca", certificates.ca, *words(protocol), *ALIEN, "-n", "20", "-c", "4")
    assert (found["name"], found["ok"]) == (PROTOCOLS[protocol], 20), f"{found['statuses']}"


def test_rest_of_load_streams_and_uses_tls(secured, certificates):
    """--rest repeats the load of a method of any kind at a URL."""
    url = f"https://{secured.address}/v1/movies:upload"
    grpc, rest = loaded(secured.address, "--ca", certificates.ca, *MOVIES, "AddMultipleMovies", "-d", '{"title": "Heat"}',
                        "--messages", "3", "-n", "10", "-c", "2", "--rest", url)
    assert (grpc["name"], rest["name"], rest["target"]) == ("gRPC", "REST", url)
    assert (rest["ok"], rest["messages_sent"], rest["messages_received"]) == (10, 30, 10), f"{rest['statuses']}"


def test_curl_calls_the_example_with_json(movie_server):
    done = run("curl", "--silent", "--show-error", "-H", "content-type: application/json", "-d", '{"title": "Alien"}',
               f"http://{movie_server.address}/movie.MovieService/AddMovie")
    assert done.returncode == 0 and int(json.loads(done.stdout)["movieId"]) > 0, done
