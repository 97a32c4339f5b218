#!/usr/bin/env python3
"""What SIGTERM and SIGINT do to the movie server: calls in flight are finished, nobody new is let in, it exits with 0."""

import pathlib
import signal
import socket
import tempfile
import time

import stage
from stage import STOP_LIMIT_S, Cases, Server, equal, expect, own

stage.with_packages("hpack")

import raw_http2 as h2  # noqa: E402
from raw_http2 import Connection, message  # noqa: E402

ADD, ADD_MANY, WATCH = (f"/movie.MovieService/{name}" for name in ("AddMovie", "AddMultipleMovies", "WatchTogether"))
MOVIE = message(b"\x12\x04Jaws")
FIRST = message(b"\x0a\x011")  # the movie with the id "1"


def serve():
    return Server(own("movie_server"), "--port=0")


def an_idle_server_ends_at_once(number):
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)  # answered: it serves, and so it watches for signals
        connection.close()
        server.process.send_signal(number)
        equal(server.process.wait(STOP_LIMIT_S), 0, "the exit code")


def idle_connections_are_closed():
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)
        server.process.send_signal(signal.SIGTERM)
        equal(connection.end(), h2.NO_ERROR, "the code of GOAWAY")
        equal(server.process.wait(STOP_LIMIT_S), 0, "the exit code")


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
    raise stage.Wrong("connections are accepted while the server drains")


def a_call_in_flight_completes():
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)
        stream = connection.open(WATCH)
        connection.write(stream, FIRST)
        connection.read_until(lambda: connection.on(stream).data)
        server.process.send_signal(signal.SIGTERM)
        connection.read_until(lambda: connection.goaway is not None)
        equal(connection.goaway, h2.NO_ERROR, "the code of GOAWAY")
        nobody_new_is_let_in(server)
        before = len(connection.on(stream).data)
        connection.write(stream, FIRST, end=True)
        reply = connection.reply(stream)
        expect(len(reply.data) > before, "the call in flight was not answered any more")
        equal(reply.fields.get("grpc-status"), "0", "grpc-status of the call in flight")
        equal(server.process.wait(STOP_LIMIT_S), 0, "the exit code")


def a_second_signal_ends_what_still_runs():
    with serve() as server:
        connection = Connection(server)
        connection.call(ADD, MOVIE)
        stream = connection.open(WATCH)
        connection.write(stream, FIRST)
        connection.read_until(lambda: connection.on(stream).data)
        server.process.send_signal(signal.SIGTERM)
        connection.read_until(lambda: connection.goaway is not None)
        server.process.send_signal(signal.SIGTERM)
        expect(connection.reply(stream).fields.get("grpc-status") in ("1", "14"), f"the call ended with {connection.on(stream)}")
        equal(server.process.wait(STOP_LIMIT_S), 0, "the exit code")


def an_upload_in_flight_is_kept(folder):
    path = pathlib.Path(folder, "movies.db")
    with Server(own("movie_server"), "--port=0", "--db", path) as server:
        connection = Connection(server)
        stream = connection.open(ADD_MANY)
        connection.write(stream, MOVIE)
        connection.call(ADD, MOVIE)  # answered: the server has read the upload's first message too
        server.process.send_signal(signal.SIGTERM)
        connection.read_until(lambda: connection.goaway is not None)
        connection.write(stream, MOVIE, end=True)
        equal(connection.reply(stream).fields.get("grpc-status"), "0", "grpc-status of the upload")
        equal(server.process.wait(STOP_LIMIT_S), 0, "the exit code")
    with Server(own("movie_server"), "--port=0", "--db", path) as server:
        reply = Connection(server).call("/movie.MovieService/ListMovies", message(b""))
        equal(reply.data.count(b"Jaws"), 3, "the number of movies in the file")


if __name__ == "__main__":
    cases = Cases()
    cases.run("Drain.AnIdleServerEndsAtOnceOnSigterm", an_idle_server_ends_at_once, signal.SIGTERM)
    cases.run("Drain.AnIdleServerEndsAtOnceOnSigint", an_idle_server_ends_at_once, signal.SIGINT)
    cases.run("Drain.IdleConnectionsAreClosed", idle_connections_are_closed)
    cases.run("Drain.ACallInFlightCompletes", a_call_in_flight_completes)
    cases.run("Drain.ASecondSignalEndsWhatStillRuns", a_second_signal_ends_what_still_runs)
    with tempfile.TemporaryDirectory() as scratch:
        cases.run("Drain.AnUploadInFlightIsKept", an_upload_in_flight_is_kept, scratch)
    cases.end()
