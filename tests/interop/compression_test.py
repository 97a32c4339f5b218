"""Compressed messages: raw ones, right and wrong, and grpcio's, against our movie server; ours against grpcio's."""

import concurrent.futures
import gzip
import zlib

import pytest

from programs import own, run

pytest.importorskip("hpack", reason="./dev peers installs it")
pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

import grpc  # noqa: E402

import movie_stubs  # noqa: E402
from raw_http2 import Connection, message  # noqa: E402

movie_pb2, movie_pb2_grpc = movie_stubs.load()

ADD, ADD_MANY = "/movie.MovieService/AddMovie", "/movie.MovieService/AddMultipleMovies"
OK, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = "0", "8", "12", "13"
LIMIT_S = 20


def movie(title):
    return b"\x12" + bytes([len(title)]) + title.encode()


def status_is(reply, status):
    assert reply.fields.get("grpc-status") == status, f"grpc-status ({reply})"


def serves(connection):
    status_is(connection.call(ADD, message(movie("after it"))), OK)


def known(reply):
    return set(reply.fields.get("grpc-accept-encoding", "").split(","))


@pytest.fixture
def server(movie_server):
    yield movie_server
    movie_server.expect_alive()


def test_messages_are_understood_and_the_known_encodings_told(server):
    connection = Connection(server)
    for encoding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
        reply = connection.call(ADD, message(pack(movie("packed")), flag=1), ("grpc-encoding", encoding))
        status_is(reply, OK)
        assert "grpc-encoding" not in reply.fields, f"an answer is compressed though nobody asked for it: {reply}"
        assert {"identity", "deflate", "gzip", "zstd"} <= known(reply), f"the known encodings are not told: {reply}"
    # Some messages of such a call may be as they are.
    status_is(connection.call(ADD, message(movie("plain")), ("grpc-encoding", "gzip")), OK)


def test_an_unknown_encoding_is_told_the_known(server):
    connection = Connection(server)
    reply = connection.call(ADD, message(movie("flat"), flag=1), ("grpc-encoding", "snail"))
    status_is(reply, UNIMPLEMENTED)
    assert {"identity", "deflate", "gzip", "zstd"} <= known(reply), f"the known encodings are not told: {reply}"


def test_a_corrupt_or_cut_message_is_internal(server):
    connection = Connection(server)
    whole = gzip.compress(movie("packed"))
    for wrong in (whole[:-1], whole[:9], b"", b"no gzip at all", whole + b"x", whole[:12] + b"\xff\xff" + whole[14:]):
        for path in (ADD, ADD_MANY):
            status_is(connection.call(path, message(wrong, flag=1), ("grpc-encoding", "gzip")), INTERNAL)
    serves(connection)


def test_a_bomb_is_refused(server):
    connection = Connection(server)
    bomb = gzip.compress(bytes(8 << 20))  # 8 KiB on the wire
    for path in (ADD, ADD_MANY):
        status_is(connection.call(path, message(bomb, flag=1), ("grpc-encoding", "gzip")), RESOURCE_EXHAUSTED)
    serves(connection)


def test_grpcio_compresses_all_kinds_of_calls(server):
    for how in (grpc.Compression.Gzip, grpc.Compression.Deflate):
        with grpc.insecure_channel(server.address, compression=how) as channel:
            stub = movie_pb2_grpc.MovieServiceStub(channel)
            plot = "once upon a time " * 1000
            number = stub.AddMovie(movie_pb2.Movie(title=plot), timeout=LIMIT_S).movie_id
            many = stub.AddMultipleMovies((movie_pb2.Movie(title=plot) for _ in range(5)), timeout=LIMIT_S)
            assert len(many.movie_ids) == 5, "movies that were kept of a stream"
            listed = {one.id: one.title for one in stub.ListMovies(movie_pb2.ListMoviesRequest(), timeout=LIMIT_S)}
            assert listed[number] == plot, "the movie on the shelf"


@pytest.mark.parametrize("how", [grpc.Compression.Gzip, grpc.Compression.Deflate], ids=lambda how: how.name)
def test_our_client_understands_what_grpcio_compresses(how):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(), compression=how)
    movie_pb2_grpc.add_MovieServiceServicer_to_server(movie_stubs.example_server().Movies(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    client = run(own("movie_client"), f"127.0.0.1:{port}")
    server.stop(None)
    assert client.returncode == 0, f"the exit code ({client.stdout[-300:]} {client.stderr[-300:]})"
