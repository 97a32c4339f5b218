#!/usr/bin/env python3
"""grpcurl, buf curl and ghz against our movie server: what they call they learn from it, by reflection."""

import json

import stage
from stage import Cases, Server, equal, expect, own, peer, run

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


def grpcurl(server, *words, data=None):
    asked = ("-d", "@") if data is not None else ()
    done = run(peer("grpcurl"), "-plaintext", "-max-time", "20", *asked, server.address, *words, data=data)
    equal(done.returncode, 0, f"grpcurl's exit code ({done.stderr.strip()[-300:]})")
    return done.stdout


def grpcurl_lists_what_is_served(server):
    services = grpcurl(server, "list").split()
    for name in (SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                 "grpc.reflection.v1alpha.ServerReflection"):
        expect(name in services, f"{name} is not among {services}")


def grpcurl_describes_a_service_and_a_message(server):
    expect("rpc WatchTogether ( stream .movie.WatchTogetherRequest ) returns ( stream .movie.WatchTogetherResponse );" in grpcurl(server, "describe", SERVICE),
           "the service is described otherwise")
    expect("repeated .movie.MoviePerson directors = 4;" in grpcurl(server, "describe", "movie.Movie"), "the message is described otherwise")


def grpcurl_calls_all_kinds(server):
    number = objects(grpcurl(server, f"{SERVICE}/AddMovie", data='{"title": "Alphaville"}'))[0]["movieId"]
    several = grpcurl(server, f"{SERVICE}/AddMultipleMovies", data='{"title": "part 1"} {"title": "part 2"}')
    equal(len(objects(several)[0]["movieIds"]), 2, "the number of ids")
    expect(len(objects(grpcurl(server, f"{SERVICE}/ListMovies", data="{}"))) >= 3, "the shelf lacks movies")
    requests = json.dumps({"movie_id": number}) * 2
    equal([reply["views"] for reply in objects(grpcurl(server, f"{SERVICE}/WatchTogether", data=requests))], [1, 2], "the views")


def grpcurl_asks_for_health(server):
    for service in ("", SERVICE):
        reply = grpcurl(server, "grpc.health.v1.Health/Check", data=json.dumps({"service": service}))
        equal(objects(reply)[0].get("status"), "SERVING", f"the health of {service!r}")


def buf(server, method, *requests):
    done = run(peer("buf"), "curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", "@-",
               f"http://{server.address}/{SERVICE}/{method}", data="\n".join(map(json.dumps, requests)))
    equal(done.returncode, 0, f"buf's exit code ({done.stderr.strip()[-300:]})")
    return objects(done.stdout)


def buf_curl_calls_all_kinds(server):
    number = buf(server, "AddMovie", {"title": "Playtime"})[0]["movieId"]
    equal(len(buf(server, "AddMultipleMovies", {"title": "part 1"}, {"title": "part 2"})[0]["movieIds"]), 2, "the number of ids")
    expect("Playtime" in [movie["title"] for movie in buf(server, "ListMovies", {})], "the shelf lacks a movie")
    watched = buf(server, "WatchTogether", {"movie_id": number}, {"movie_id": number})
    equal([reply["views"] for reply in watched], [1, 2], "the views")


def buf_curl_shows_an_error(server):
    done = run(peer("buf"), "curl", "--protocol", "grpc", "--http2-prior-knowledge", "-d", "{}",
               f"http://{server.address}/{SERVICE}/AddMovie")
    expect(done.returncode != 0 and "invalid_argument" in done.stderr, f"it says {done.stderr.strip()[-300:]}")


def ghz_sees_no_call_fail(server):
    done = run(peer("ghz"), "--insecure", "--call", f"{SERVICE}.AddMovie", "-d", '{"title": "load"}', "-n", LOAD_CALLS, "-c", "20",
               "--connections", "4", "-O", "json", server.address, limit_s=60)
    equal(done.returncode, 0, f"ghz' exit code ({done.stderr.strip()[-300:]})")
    equal(json.loads(done.stdout)["statusCodeDistribution"], {"OK": LOAD_CALLS}, "how the calls ended")


def main():
    cases = Cases()
    every = (grpcurl_lists_what_is_served, grpcurl_describes_a_service_and_a_message, grpcurl_calls_all_kinds,
             grpcurl_asks_for_health, buf_curl_calls_all_kinds, buf_curl_shows_an_error, ghz_sees_no_call_fail)

    def against_the_movie_server(backend):
        with Server(own("movie_server"), "--port=0", env={"CORACLE_BACKEND": backend}) as server:
            cases.each(f"Reflection.{backend}", every, server)
            equal(server.stop(), 0, "the server's exit code")

    for backend in stage.backends():
        cases.run(f"Reflection.{backend}.TheServerServes", against_the_movie_server, backend)
    cases.end()


if __name__ == "__main__":
    main()
