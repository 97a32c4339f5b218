"""grpcio's client against our movie server, plaintext and TLS."""

import queue
import time

import pytest

from programs import Server, own

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

import grpc  # noqa: E402

import movie_stubs  # noqa: E402

movie_pb2, movie_pb2_grpc = movie_stubs.load()

LIMIT_S = 20
TITLE_BYTES = 3 << 20
TOO_LARGE_BYTES = 5 << 20  # the limit of a server is 4 MiB unless it is set


def failure(call, code):
    """Calls and returns the error that must come, of that code."""
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == code, f"the status ({error.details()})"
        return error
    pytest.fail(f"the call succeeded, not {code}")


def movie(title, **more):
    return movie_pb2.Movie(title=title, **more)


class Client:
    def __init__(self, server, ca=None):
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        if ca:
            trust = grpc.ssl_channel_credentials(ca.read_bytes())
            self.channel = grpc.secure_channel(server.address, trust, options)
        else:
            self.channel = grpc.insecure_channel(server.address, options)
        self.stub = movie_pb2_grpc.MovieServiceStub(self.channel)

    def add(self, title, **more):
        return self.stub.AddMovie(movie(title, **more), timeout=LIMIT_S).movie_id

    def listed(self):
        return {one.id: one for one in self.stub.ListMovies(movie_pb2.ListMoviesRequest(), timeout=LIMIT_S)}


@pytest.fixture(scope="module", params=["plaintext", "tls"])
def made(request, certificates):
    """The certificates over TLS, else None."""
    return certificates if request.param == "tls" else None


@pytest.fixture(scope="module")
def server(backend, made):
    flags = ("--cert", made.server, "--key", made.server_key) if made else ()
    with Server(own("movie_server"), "--port=0", *flags, env={"CORACLE_BACKEND": backend}) as one:
        yield one


@pytest.fixture(scope="module")
def client(server, made):
    one = Client(server, made and made.ca)
    yield one
    one.channel.close()


def test_unary_adds_a_movie(client):
    sent = movie("Stalker", genres=[movie_pb2.DRAMA, movie_pb2.SCI_FI], year_of_production=1979, duration_minutes=161,
                 directors=[movie_pb2.MoviePerson(first_name="Andrei", last_name="Tarkovsky")])
    sent.id = client.stub.AddMovie(sent, timeout=LIMIT_S).movie_id
    assert client.listed()[sent.id] == sent, "the movie on the shelf"


def test_client_streaming_adds_them_all(client):
    titles = [f"part {number}" for number in range(200)]
    reply = client.stub.AddMultipleMovies((movie(title) for title in titles), timeout=LIMIT_S)
    kept = client.listed()
    assert [kept[number].title for number in reply.movie_ids] == titles, "what was kept"


def test_client_streaming_of_nothing_adds_nothing(client):
    assert list(client.stub.AddMultipleMovies(iter([]), timeout=LIMIT_S).movie_ids) == [], "the ids"


def test_server_streaming_lists_in_order(client):
    added = [f"episode {number}" for number in range(20)]
    for title in added:
        client.add(title)
    titles = [one.title for one in client.stub.ListMovies(movie_pb2.ListMoviesRequest(), timeout=LIMIT_S)]
    assert [title for title in titles if title in added] == added, "the order of the movies"


def test_bidi_answers_each_request_before_the_next(client):
    movie_id = client.add("Playtime")
    requests = queue.Queue()
    call = client.stub.WatchTogether(iter(requests.get, None), timeout=LIMIT_S)
    for views in range(1, 6):
        requests.put(movie_pb2.WatchTogetherRequest(movie_id=movie_id))
        assert next(call).views == views, "the count of views"
    requests.put(None)
    assert list(call) == [], "what came after the last request"
    assert call.code() == grpc.StatusCode.OK, "the status"


def test_an_error_carries_its_code_and_text(client):
    error = failure(lambda: client.add(""), grpc.StatusCode.INVALID_ARGUMENT)
    assert "title" in error.details(), f"the text is {error.details()!r}"


def test_an_error_ends_a_stream_after_its_messages(client):
    movie_id = client.add("Ran")
    requests = [movie_pb2.WatchTogetherRequest(movie_id=one) for one in (movie_id, "unknown")]
    call = client.stub.WatchTogether(iter(requests), timeout=LIMIT_S)
    assert next(call).movie.id == movie_id, "the id of the first reply"
    failure(lambda: next(call), grpc.StatusCode.NOT_FOUND)


def test_a_deadline_expires(client):
    client.add("Solaris")
    began = time.monotonic()
    failure(lambda: list(client.stub.ListMovies(movie_pb2.ListMoviesRequest(pause_ms=60_000), timeout=0.3)),
            grpc.StatusCode.DEADLINE_EXCEEDED)
    took = time.monotonic() - began
    assert 0.2 < took < 10, f"a deadline of 0.3 s took {took:.1f} s"


def test_a_cancelled_call_ends(client):
    client.add("Mirror")
    call = client.stub.ListMovies(movie_pb2.ListMoviesRequest(pause_ms=60_000), timeout=LIMIT_S)
    call.cancel()
    failure(lambda: next(call), grpc.StatusCode.CANCELLED)


def test_metadata_passes_both_ways(client):
    binary = bytes(range(256))
    sent = (("x-echo-word", "a b, c"), ("x-echo-word", "second"), ("x-echo-blob-bin", binary), ("x-echo-empty-bin", b""))
    reply, call = client.stub.AddMovie.with_call(movie("Brazil"), metadata=sent, timeout=LIMIT_S)
    assert reply.movie_id, "no id came"
    early, late = call.initial_metadata(), call.trailing_metadata()
    assert [entry.value for entry in early if entry.key == "x-echo-word"] == ["a b, c", "second"], "the text metadata"
    assert [entry.value for entry in late if entry.key == "x-echo-blob-bin"] == [binary], "the binary metadata"
    assert [entry.value for entry in late if entry.key == "x-echo-empty-bin"] == [b""], "the empty binary metadata"


def test_an_unknown_method_is_unimplemented(client):
    for path in ("/movie.MovieService/Rewind", "/movie.Nobody/AddMovie"):
        failure(lambda path=path: client.channel.unary_unary(path)(b"", timeout=LIMIT_S), grpc.StatusCode.UNIMPLEMENTED)


def test_a_message_over_the_limit_is_refused(client):
    failure(lambda: client.add("x" * TOO_LARGE_BYTES), grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert client.add("after it"), "the connection is of no use after it"


def test_a_malformed_message_is_internal(client):
    call = client.channel.unary_unary("/movie.MovieService/AddMovie")
    failure(lambda: call(b"\x0a\xff", timeout=LIMIT_S), grpc.StatusCode.INTERNAL)


def test_many_calls_share_a_connection(client):
    calls = [client.stub.AddMovie.future(movie(f"take {number}"), timeout=LIMIT_S) for number in range(300)]
    assert len({call.result().movie_id for call in calls}) == 300, "the number of different ids"


def test_large_messages_pass_both_ways(client):
    """Behind the others: a list of the shelf is heavy from here on."""
    title = "".join(chr(ord("a") + number % 23) for number in range(TITLE_BYTES))
    request = movie_pb2.WatchTogetherRequest(movie_id=client.add(title))
    call = client.stub.WatchTogether(iter([request]), timeout=LIMIT_S)
    assert next(call).movie.title == title, "the title that came back is another"


def test_the_server_ends_well(server, client):
    """The last test of this file."""
    client.channel.close()
    assert server.stop() == 0, "the exit code"
