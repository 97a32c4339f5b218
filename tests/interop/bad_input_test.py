"""What malformed, cut and oversized input gets from the movie server; other connections never notice."""

import random
import socket
import struct

import pytest

from programs import Server, own

pytest.importorskip("hpack", reason="./dev peers installs it")

import raw_http2 as h2  # noqa: E402
from raw_http2 import Connection, block, frame, grpc_fields, message  # noqa: E402

ADD, ADD_MANY, LIST, WATCH = (f"/movie.MovieService/{name}" for name in
                              ("AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether"))
OK, CANCELLED, UNKNOWN, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = "0", "1", "2", "8", "12", "13"


def movie(title):
    return b"\x12" + bytes([len(title)]) + title.encode()


def status_is(reply, status):
    assert reply.lists, f"no header came: {reply}"
    assert reply.fields.get("grpc-status") == status, f"grpc-status ({reply})"


def ends_with(connection, code):
    """The server says GOAWAY with this code and closes."""
    assert connection.end() == code, "the code of GOAWAY"


def serves(connection):
    """The connection is still good for calls."""
    status_is(connection.call(ADD, message(movie("after it"))), OK)


def shelf(server):
    connection = Connection(server)
    reply = connection.call(LIST, message(b""))
    status_is(reply, OK)
    connection.close()
    return reply.data


class Bystander:
    """A call on a connection of its own that is open all the while."""

    def __init__(self, server):
        self.connection = Connection(server)
        self.stream = self.connection.open(WATCH)
        self.connection.call(ADD, message(movie("bystander")))
        self.answers = 0

    def still_served(self):
        self.connection.write(self.stream, message(b"\x0a\x011"))  # the movie with the id "1"
        reply, before = self.connection.on(self.stream), len(self.connection.on(self.stream).data)
        self.connection.read_until(lambda: len(reply.data) > before or reply.ended)
        assert not reply.ended, f"the call beside it has ended: {reply}"


@pytest.fixture(scope="module")
def started(backend):
    with Server(own("movie_server"), "--port=0", env={"CORACLE_BACKEND": backend}) as one:
        yield one


@pytest.fixture(scope="module")
def bystander(started):
    one = Bystander(started)
    yield one
    one.connection.close()


@pytest.fixture
def server(started, bystander):
    """Whatever a test does to it, it lives, and a call on another connection goes on."""
    yield started
    started.expect_alive()
    bystander.still_served()


# Connections

def test_a_bad_preface_ends_the_connection(server):
    for text in (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 64):
        connection = Connection(server, text)
        connection.read_until(lambda: connection.closed)


def test_a_frame_over_the_limit_is_a_frame_size_error(server):
    connection = Connection(server)
    connection.open(ADD)
    connection.send(frame(h2.DATA, 0, 1, bytes(20_000))[:100])  # its length says enough
    ends_with(connection, h2.FRAME_SIZE_ERROR)


def test_data_on_no_stream_is_a_protocol_error(server):
    for stream in (0, 1):
        connection = Connection(server)
        connection.write(stream, b"data")
        ends_with(connection, h2.PROTOCOL_ERROR)


def test_a_garbage_header_block_is_a_compression_error(server):
    connection = Connection(server)
    connection.open_block(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")
    ends_with(connection, h2.COMPRESSION_ERROR)


def test_a_window_past_its_end_is_a_flow_control_error(server):
    connection = Connection(server)
    connection.send(frame(h2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7FFFFFFF)))
    ends_with(connection, h2.FLOW_CONTROL_ERROR)


def test_a_rapid_reset_is_calmed(server):
    connection = Connection(server)
    for _ in range(20_000):
        connection.reset(connection.open(WATCH))
    # Whoever still writes when the server has hung up may lose what it said last: then no GOAWAY is read.
    assert connection.end() in (h2.ENHANCE_YOUR_CALM, None), f"the code of GOAWAY is {connection.goaway}"


def test_noise_ends_the_connection_only(server):
    chance = random.Random(7)
    for _ in range(40):
        connection = Connection(server)
        connection.send(chance.randbytes(chance.randrange(1, 4000)))
        # What noise says is seldom the end of anything: say so, and let the server make of it what it may.
        connection.socket.shutdown(socket.SHUT_WR)
        connection.read_until(lambda connection=connection: connection.closed)


# Streams

def test_a_field_name_in_capitals_resets_the_stream_only(server):
    connection = Connection(server)
    stream = connection.open_block(block(grpc_fields(ADD, ("X-Loud", "yes"))))
    reply = connection.reply(stream)
    assert (reply.ended, reply.code) == ("reset", h2.PROTOCOL_ERROR), "the end of the stream"
    serves(connection)


def test_a_header_list_over_the_limit_fails_the_call_only(server):
    connection = Connection(server)
    fields = block(grpc_fields(ADD, *((f"x-fill-{number}", "x" * 100) for number in range(130))))
    reply = connection.reply(connection.open_block(fields, end=True))
    assert (reply.ended == "reset" or reply.fields.get("grpc-status") == RESOURCE_EXHAUSTED
           or reply.fields.get(":status") == "431"), f"it got {reply}"
    serves(connection)


def test_a_binary_field_that_is_no_base64_fails_the_call_only(server):
    connection = Connection(server)
    status_is(connection.call(ADD, message(movie("text")), ("x-blob-bin", "no base64!")), INTERNAL)
    serves(connection)


def test_another_content_type_is_415(server):
    connection = Connection(server)
    for content_type in ("application/xml", "application/grpcx", None):
        reply = connection.call(ADD, message(movie("text")), content_type=content_type)
        assert reply.fields.get(":status") == "415", f":status for {content_type}"
        assert "grpc-status" not in reply.fields, f"a reply that is no gRPC has a grpc-status: {reply}"
    serves(connection)


def test_get_on_a_method_is_405(server):
    connection = Connection(server)
    reply = connection.reply(connection.open(ADD, method="GET", end=True))
    assert reply.fields.get(":status") == "405", ":status"
    serves(connection)


def test_an_unknown_service_or_method_is_unimplemented(server):
    connection = Connection(server)
    for path in ("/movie.MovieService/Rewind", "/movie.Nobody/AddMovie", "/movie.movieservice/AddMovie", "/movie.MovieService/",
                 ADD + "/"):
        status_is(connection.call(path, message(b"")), UNIMPLEMENTED)
    serves(connection)


# Messages

def test_a_message_cut_by_the_end_is_internal(server):
    connection = Connection(server)
    for path in (ADD, ADD_MANY, WATCH):
        status_is(connection.call(path, message(b"\x12\x05ab", length=100)), INTERNAL)
        status_is(connection.call(path, b"\0\0\0"), INTERNAL)
    serves(connection)


def test_a_missing_or_second_message_is_unimplemented(server):
    connection = Connection(server)
    status_is(connection.call(ADD, b""), UNIMPLEMENTED)
    status_is(connection.call(ADD, message(movie("one")) + message(movie("two"))), UNIMPLEMENTED)
    serves(connection)


def test_a_message_over_the_limit_is_refused_by_its_length(server):
    connection = Connection(server)
    for path in (ADD, ADD_MANY):
        stream = connection.open(path)
        connection.write(stream, message(b"\x12", length=1 << 30))
        status_is(connection.reply(stream), RESOURCE_EXHAUSTED)
    serves(connection)


def test_a_message_that_does_not_parse_is_internal(server):
    connection = Connection(server)
    for path in (ADD, ADD_MANY, WATCH):
        status_is(connection.call(path, message(b"\x12\xff")), INTERNAL)
    serves(connection)


def test_a_compressed_message_without_an_encoding_is_internal(server):
    connection = Connection(server)
    status_is(connection.call(ADD, message(movie("flat"), flag=1)), INTERNAL)
    serves(connection)


def test_an_unknown_encoding_is_unimplemented_and_told_the_known(server):
    connection = Connection(server)
    reply = connection.call(ADD, message(movie("flat"), flag=1), ("grpc-encoding", "snail"))
    status_is(reply, UNIMPLEMENTED)
    assert "identity" in reply.fields.get("grpc-accept-encoding", ""), f"the known encodings are not told: {reply}"
    serves(connection)


# Cut client streams: nothing of them is kept

def test_an_upload_that_is_reset_is_not_kept(server):
    connection = Connection(server)
    stream = connection.open(ADD_MANY)
    connection.write(stream, message(movie("reset one")) + message(movie("reset two")))
    connection.reset(stream)
    serves(connection)
    assert b"reset" not in shelf(server), "the shelf has movies of the upload that was reset"


def test_an_upload_whose_connection_breaks_is_not_kept(server):
    connection = Connection(server)
    stream = connection.open(ADD_MANY)
    connection.write(stream, message(movie("broken one")))
    serves(connection)  # so the server has read the upload's message too
    connection.close()
    assert b"broken" not in shelf(server), "the shelf has movies of the upload whose connection broke"


def test_an_upload_cut_within_a_message_is_not_kept(server):
    connection = Connection(server)
    status_is(connection.call(ADD_MANY, message(movie("cut one")) + message(b"\x12\x08cu", length=10)), INTERNAL)
    assert b"cut" not in shelf(server), "the shelf has movies of the upload that was cut"


def test_an_upload_past_its_deadline_is_not_kept(server):
    connection = Connection(server)
    stream = connection.open(ADD_MANY, ("grpc-timeout", "100m"))
    connection.write(stream, message(movie("late one")))
    status_is(connection.reply(stream), "4")
    connection.write(stream, b"", end=True)
    serves(connection)
    assert b"late" not in shelf(server), "the shelf has movies of the upload whose deadline passed"


def test_the_server_ends_well(started, bystander):
    """The last test of this file."""
    bystander.connection.close()
    assert started.stop() == 0, "the exit code at the end"
