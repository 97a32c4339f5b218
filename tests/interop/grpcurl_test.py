"""grpcurl, told of the service by its .proto, against our movie server."""

import json

import pytest

from programs import MOVIE_PROTO, peer, run


class Grpcurl:
    def __init__(self, server):
        self.server = server

    def __call__(self, method, *requests, flags=()):
        """The completed process; its requests go in as JSON."""
        data = "\n".join(json.dumps(request) for request in requests)
        return run(peer("grpcurl"), "-plaintext", "-max-time", "20", "-import-path", MOVIE_PROTO.parent, "-proto", MOVIE_PROTO.name,
                   *flags, "-d", "@", self.server.address, f"movie.MovieService/{method}", data=data)

    def replies(self, method, *requests):
        done = self(method, *requests)
        assert done.returncode == 0, f"grpcurl's exit code ({done.stderr.strip()})"
        decoder, text, found = json.JSONDecoder(), done.stdout.strip(), []
        while text:
            one, end = decoder.raw_decode(text)
            found.append(one)
            text = text[end:].lstrip()
        return found


@pytest.fixture(scope="module")
def grpcurl(movie_server):
    peer("grpcurl")
    return Grpcurl(movie_server)


def test_adds_a_movie(grpcurl):
    replies = grpcurl.replies("AddMovie", {"title": "Alphaville", "year_of_production": 1965})
    assert int(replies[0]["movieId"]) > 0, f"the reply is {replies}"


def test_adds_several(grpcurl):
    replies = grpcurl.replies("AddMultipleMovies", *({"title": f"part {number}"} for number in range(5)))
    assert len(replies[0]["movieIds"]) == 5, "the number of ids"


def test_lists_them(grpcurl):
    grpcurl.replies("AddMovie", {"title": "La Jetée"})
    titles = [reply["title"] for reply in grpcurl.replies("ListMovies", {})]
    assert "La Jetée" in titles, f"the titles are {titles}"


def test_watches_together(grpcurl):
    number = grpcurl.replies("AddMovie", {"title": "Vertigo"})[0]["movieId"]
    replies = grpcurl.replies("WatchTogether", {"movie_id": number}, {"movie_id": number})
    assert [reply["views"] for reply in replies] == [1, 2], "the counts of views"


def test_shows_an_error(grpcurl):
    done = grpcurl("AddMovie", {"year_of_production": 2000})
    assert done.returncode == 64 + 3 and "InvalidArgument" in done.stderr, f"exit code {done.returncode}: {done.stderr}"


def test_shows_metadata(grpcurl):
    done = grpcurl("AddMovie", {"title": "Metropolis"}, flags=("-v", "-H", "x-echo-word: moloch", "-H", "x-echo-blob-bin: AAEC/w"))
    assert "x-echo-word: moloch" in done.stdout, f"no text metadata in {done.stdout}"
    assert "x-echo-blob-bin: AAEC/w" in done.stdout, f"no binary metadata in {done.stdout}"


def test_the_server_still_serves(movie_server):
    movie_server.expect_alive()
