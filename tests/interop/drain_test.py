"""What SIGTERM and SIGINT do to the movie server: calls in flight are finished, nobody new is let in, it exits with 0."""

import signal
import socket
import time

import pytest

from programs import STOP_LIMIT_S, Server, own

pytest.importorskip("hpack", reason="./dev peers installs it")

import raw_http2 as h2  # noqa: E402
from raw_http2 import Connection, message  # noqa: E402

ADD, ADD_MANY, WATCH = (f"/movie.MovieService/{name}" for name in ("AddMovie", "AddMultipleMovies", "WatchTogether"))
MOVIE = message(b"\x12\x04Jaws")
FIRST = message(b"\x0a\x011")  # the movie with the id "1"


def serve():
    return Server(own("movie_server"), "--port=0")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_an_idle_server_ends_at_once(number):
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)  # answered: it serves, and so it watches for signals
        connection.close()
        server.process.send_signal(number)
        assert server.process.wait(STOP_LIMIT_S) == 0, "the exit code"


def test_idle_connections_are_closed():
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)
        server.process.send_signal(signal.SIGTERM)
        assert connection.end() == h2.NO_ERROR, "the code of GOAWAY"
        assert server.process.wait(STOP_LIMIT_S) == 0, "the exit code"


def nobody_new_is_let_in(server):
    """The kernel may still take a connection while the listener is being closed: that one is hung up on."""
    until = time.monotonic() + STOP_LIMIT_S
    while time.monotonic() < until:
        try:
            with socket.create_connection(("127.0.0.1", server.port), STOP_LIMIT_S) as late:
                late.recv(1)
        except ConnectionRefusedError:
            return
        except ConnectionError:
            pass
    pytest.fail("connections are accepted while the server drains")


def test_a_call_in_flight_completes():
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)
        stream = connection.open(WATCH)
        connection.write(stream, FIRST)
        connection.read_until(lambda: connection.on(stream).data)
        server.process.send_signal(signal.SIGTERM)
        connection.read_until(lambda: connection.goaway is not None)
        assert connection.goaway == h2.NO_ERROR, "the code of GOAWAY"
        nobody_new_is_let_in(server)
        before = len(connection.on(stream).data)
        connection.write(stream, FIRST, end=True)
        reply = connection.reply(stream)
        assert len(reply.data) > before, "the call in flight was not answered any more"
        assert reply.fields.get("grpc-status") == "0", "grpc-status of the call in flight"
        assert server.process.wait(STOP_LIMIT_S) == 0, "the exit code"


def test_a_second_signal_ends_what_still_runs():
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)
        stream = connection.open(WATCH)
        connection.write(stream, FIRST)
        connection.read_until(lambda: connection.on(stream).data)
        server.process.send_signal(signal.SIGTERM)
        connection.read_until(lambda: connection.goaway is not None)
        server.process.send_signal(signal.SIGTERM)
        assert connection.reply(stream).fields.get("grpc-status") in ("1", "14"), f"the call ended with {connection.on(stream)}"
        assert server.process.wait(STOP_LIMIT_S) == 0, "the exit code"


def test_an_upload_in_flight_is_kept(tmp_path):
    path = tmp_path / "movies.db"
    with Server(own("movie_server"), "--port=0", "--db", path) as server:
        connection = Connection(server)
        stream = connection.open(ADD_MANY)
        connection.write(stream, MOVIE)
        connection.call(ADD, MOVIE)  # answered: the server has read the upload's first message too
        server.process.send_signal(signal.SIGTERM)
        connection.read_until(lambda: connection.goaway is not None)
        connection.write(stream, MOVIE, end=True)
        assert connection.reply(stream).fields.get("grpc-status") == "0", "grpc-status of the upload"
        assert server.process.wait(STOP_LIMIT_S) == 0, "the exit code"
    with Server(own("movie_server"), "--port=0", "--db", path) as server:
        reply = Connection(server).call("/movie.MovieService/ListMovies", message(b""))
        assert reply.data.count(b"Jaws") == 3, "the number of movies in the file"
