"""grpcurl, buf curl and ghz against our movie server: what they call they learn from it, by reflection."""

import json

import pytest

from programs import Server, own, peer, run

SERVICE = "movie.MovieService"
LOAD_CALLS = 2000


def objects(text):
    """The JSON objects that stand one behind the other in a text."""
    decoder, text, found = json.JSONDecoder(), text.strip(), []
    while text:
        one, end = decoder.raw_decode(text)
        found.append(one)
        text = text[end:].lstrip()
    return found


@pytest.fixture(scope="module")
def server(backend):
    with Server(own("movie_server"), "--port=0", env={"CORACLE_BACKEND": backend}) as one:
        yield one


def grpcurl(server, *words, data=None):
    asked = ("-d", "@") if data is not None else ()
    done = run(peer("grpcurl"), "-plaintext", "-max-time", "20", *asked, server.address, *words, data=data)
    assert done.returncode == 0, f"grpcurl's exit code ({done.stderr.strip()[-300:]})"
    return done.stdout


def test_grpcurl_lists_what_is_served(server):
    services = grpcurl(server, "list").split()
    for name in (SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                 "grpc.reflection.v1alpha.ServerReflection"):
        assert name in services, f"{name} is not among {services}"


def test_grpcurl_describes_a_service_and_a_message(server):
    assert "rpc WatchTogether ( stream .movie.WatchTogetherRequest ) returns ( stream .movie.WatchTogetherResponse );" in grpcurl(server, "describe", SERVICE), \
        "the service is described otherwise"
    assert "repeated .movie.MoviePerson directors = 4;" in grpcurl(server, "describe", "movie.Movie"), \
        "the message is described otherwise"


def test_grpcurl_calls_all_kinds(server):
    number = objects(grpcurl(server, f"{SERVICE}/AddMovie", data='{"title": "Alphaville"}'))[0]["movieId"]
    several = grpcurl(server, f"{SERVICE}/AddMultipleMovies", data='{"title": "part 1"} {"title": "part 2"}')
    assert len(objects(several)[0]["movieIds"]) == 2, "the number of ids"
    assert len(objects(grpcurl(server, f"{SERVICE}/ListMovies", data="{}"))) >= 3, "the shelf lacks movies"
    requests = json.dumps({"movie_id": number}) * 2
    assert [reply["views"] for reply in objects(grpcurl(server, f"{SERVICE}/WatchTogether", data=requests))] == [1, 2], "the views"


def test_grpcurl_asks_for_health(server):
    for service in ("", SERVICE):
        reply = grpcurl(server, "grpc.health.v1.Health/Check", data=json.dumps({"service": service}))
        assert objects(reply)[0].get("status") == "SERVING", f"the health of {service!r}"


def buf(server, method, *requests):
    done = run(peer("buf"), "curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", "@-",
               f"http://{server.address}/{SERVICE}/{method}", data="\n".join(map(json.dumps, requests)))
    assert done.returncode == 0, f"buf's exit code ({done.stderr.strip()[-300:]})"
    return objects(done.stdout)


def test_buf_curl_calls_all_kinds(server):
    number = buf(server, "AddMovie", {"title": "Playtime"})[0]["movieId"]
    assert len(buf(server, "AddMultipleMovies", {"title": "part 1"}, {"title": "part 2"})[0]["movieIds"]) == 2, "the number of ids"
    assert "Playtime" in [movie["title"] for movie in buf(server, "ListMovies", {})], "the shelf lacks a movie"
    watched = buf(server, "WatchTogether", {"movie_id": number}, {"movie_id": number})
    assert [reply["views"] for reply in watched] == [1, 2], "the views"


def test_buf_curl_shows_an_error(server):
    done = run(peer("buf"), "curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", "{}",
               f"http://{server.address}/{SERVICE}/AddMovie")
    assert done.returncode != 0 and "invalid_argument" in done.stderr, f"it says {done.stderr.strip()[-300:]}"


def test_ghz_sees_no_call_fail(server):
    done = run(peer("ghz"), "--insecure", "--call", f"{SERVICE}.AddMovie", "-d", '{"title": "load"}', "-n", LOAD_CALLS, "-c", "20",
               "--connections", "4", "-O", "json", server.address, limit_s=60)
    assert done.returncode == 0, f"ghz' exit code ({done.stderr.strip()[-300:]})"
    assert json.loads(done.stdout)["statusCodeDistribution"] == {"OK": LOAD_CALLS}, "how the calls ended"


def test_the_server_ends_well(server):
    """The last test of this file."""
    assert server.stop() == 0, "the exit code"
