"""Clients that mean harm: each is closed or bounded, memory stays within the quota, and a well-behaved client beside them
is served."""

import gzip
import socket
import struct

import pytest

from abused_server import MEGABYTE, QUOTA_BYTES, Watch, closed_by_server
from programs import Server, own

pytest.importorskip("hpack", reason="./dev peers installs it")

import raw_http2 as h2  # noqa: E402
from raw_http2 import Connection, block, frame, grpc_fields, message, number  # noqa: E402

AT_ONCE, LATER, UPLOAD = "/echo.Echo/SayAtOnce", "/echo.Echo/Say", "/echo.Echo/Collect"


def text_of(count):
    """An echo.Text whose count asks for a reply of so many bytes."""
    out = b""
    while count >= 128:
        out, count = out + bytes([count % 128 + 128]), count // 128
    return message(b"\x10" + out + bytes([count]))


class HealthyClient(Connection):
    """Calls over HTTP/2, one after the other."""

    def expect_served(self):
        reply = self.call(AT_ONCE, text_of(10))
        assert reply.fields.get("grpc-status") == "0", f"the healthy client's status ({reply})"


def flood(watch, frames, count, expected, code=h2.ENHANCE_YOUR_CALM):
    """Sends frames(i) and looks whether the server had enough, as expected."""
    attacker = Connection(watch.server)
    for i in range(count):
        attacker.send(frames(i))
        if i % 2000 == 0:
            watch.look()
    if expected == "closed":
        assert attacker.end() in (code, None), f"the code of GOAWAY is {attacker.goaway}"
    watch.look()
    attacker.close()


def odd(i):
    return 2 * i + 1


REQUEST = block(grpc_fields(UPLOAD))


def open_frame(i, flags=h2.END_HEADERS):
    return frame(h2.HEADERS, flags, odd(i), REQUEST)


@pytest.fixture
def watch(backend):
    """Beside a server of its own, which has to end well."""
    with Server(own("abuse_server"), env={"CORACLE_BACKEND": backend}) as server:
        watch = Watch(server, HealthyClient(server))
        yield watch
        watch.stop()


# Floods

def test_a_rapid_reset_is_closed(watch):
    flood(watch, lambda i: open_frame(i) + frame(h2.RST_STREAM, 0, odd(i), struct.pack(">I", h2.CANCEL)), 20_000, "closed")


# Made you reset: requests that are well, and a frame after each for which the server has to reset the stream.

def made_to_reset(watch, frame_of, code=h2.ENHANCE_YOUR_CALM):
    flood(watch, lambda i: open_frame(i) + frame_of(odd(i)), 20_000, "closed", code)


def test_window_updates_of_nothing_are_closed(watch):
    made_to_reset(watch, lambda stream: frame(h2.WINDOW_UPDATE, 0, stream, struct.pack(">I", 0)))


def test_windows_that_overflow_are_closed(watch):
    made_to_reset(watch, lambda stream: frame(h2.WINDOW_UPDATE, 0, stream, struct.pack(">I", 0x7FFFFFFF)))


def test_second_heads_are_closed(watch):
    made_to_reset(watch, lambda stream: frame(h2.HEADERS, h2.END_HEADERS, stream, REQUEST))


def test_data_behind_the_end_is_closed(watch):
    made_to_reset(watch, lambda stream: frame(h2.DATA, h2.END_STREAM, stream) + frame(h2.DATA, 0, stream, b"x"),
                  h2.STREAM_CLOSED)


def test_continuations_without_an_end_are_closed(watch):
    flood(watch, lambda i: open_frame(0, 0) if i == 0 else frame(h2.CONTINUATION, 0, 1, b"\x82"), 1_000, "closed")


def test_continuations_with_an_end_are_bounded(watch):
    pieces = frame(h2.CONTINUATION, 0, 0, b"").join([b""] * 8)
    def request(i):
        middle = pieces.replace(b"\x09\x00\x00\x00\x00\x00", b"\x09\x00" + struct.pack(">I", odd(i)))
        return open_frame(i, 0) + middle + frame(h2.CONTINUATION, h2.END_HEADERS, odd(i), b"")
    flood(watch, request, 3_000, "closed")


def test_empty_frames_are_closed(watch):
    flood(watch, lambda i: open_frame(0) if i == 0 else frame(h2.DATA, 0, 1), 3_000, "closed")


def test_settings_are_closed(watch):
    flood(watch, lambda i: frame(h2.SETTINGS, 0, 0), 10_000, "closed")


def test_pings_are_closed(watch):
    flood(watch, lambda i: frame(h2.PING, 0, 0, b"12345678"), 10_000, "closed")


def test_priorities_are_closed(watch):
    flood(watch, lambda i: frame(h2.PRIORITY, 0, 1, struct.pack(">IB", 3, 1)), 10_000, "closed")


# Memory

def test_a_header_bomb_is_bounded(watch):
    """An entry of 4,000 bytes, referred to as often as fits into a block, on every stream that may be open."""
    watch.bytes_max = QUOTA_BYTES * 5 // 4  # the heap's own share of thousands of small objects is beside the quota
    entry = b"\x40\x01a" + number(3900, 7) + b"x" * 3900
    for references, connections in ((5_000, 1), (3, 4)):
        attackers = [Connection(watch.server) for _ in range(connections)]
        for attacker in attackers:
            attacker.open_block(block(grpc_fields(UPLOAD)) + entry)
            for _ in range(999):
                attacker.open_block(REQUEST + b"\xbe" * references)
            watch.look()
        watch.for_seconds(0.3)
        for attacker in attackers:
            attacker.close()


def pinned(watch, path, window, reads):
    """200 replies of a megabyte each that nobody takes."""
    attacker = Connection(watch.server, h2.PREFACE + frame(h2.SETTINGS, 0, 0, struct.pack(">HI", 4, window)) + frame(h2.SETTINGS, h2.ACK, 0))
    if window:
        attacker.send(frame(h2.WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7FFF0000 - 65_535)))
    for _ in range(200):
        stream = attacker.open(path)
        attacker.write(stream, text_of(MEGABYTE), end=True)
    gone = watch.for_seconds(12, lambda: reads and closed_by_server(attacker.socket))
    watch.look()
    assert gone or not reads, "the connection still stands"
    attacker.close()


def test_replies_pinned_by_a_zero_window_are_closed(watch):
    pinned(watch, AT_ONCE, 0, True)


def test_replies_that_come_later_and_are_pinned_are_closed(watch):
    pinned(watch, LATER, 0, True)


def test_a_client_that_does_not_read_is_bounded(watch):
    pinned(watch, AT_ONCE, 0x7FFF0000, False)


def test_a_client_that_opens_its_window_by_a_byte_is_bounded(watch):
    attacker = Connection(watch.server, h2.PREFACE + frame(h2.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) + frame(h2.SETTINGS, h2.ACK, 0))
    for _ in range(200):
        attacker.write(attacker.open(AT_ONCE), text_of(MEGABYTE), end=True)
    for _ in range(30):
        attacker.send(frame(h2.WINDOW_UPDATE, 0, 1, struct.pack(">I", 1)))
        watch.for_seconds(0.1)
    attacker.close()


def test_many_connections_that_pin_a_little_are_bounded(watch):
    attackers = []
    for _ in range(20):
        attacker = Connection(watch.server, h2.PREFACE + frame(h2.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) + frame(h2.SETTINGS, h2.ACK, 0))
        for _ in range(3):
            attacker.write(attacker.open(AT_ONCE), text_of(MEGABYTE), end=True)
        attackers.append(attacker)
        watch.look()
    watch.for_seconds(1)
    for attacker in attackers:
        attacker.close()


def bomb():
    """An echo.Text of a megabyte and a half in some 1,500 bytes."""
    size = MEGABYTE * 3 // 2
    length = bytes([size % 128 + 128, size // 128 % 128 + 128, size // 16_384])
    return message(gzip.compress(b"\x0a" + length + bytes(size)), flag=1)


def compressed(attacker, path, data, end):
    stream = attacker.open(path, ("grpc-encoding", "gzip"))
    attacker.write(stream, data, end)
    return stream


def test_large_requests_behind_pinned_replies_are_bounded(watch):
    """They wait for their turn as they came, not decompressed."""
    attacker = Connection(watch.server, h2.PREFACE + frame(h2.SETTINGS, 0, 0, struct.pack(">HI", 4, 0)) + frame(h2.SETTINGS, h2.ACK, 0))
    for _ in range(5):
        attacker.write(attacker.open(AT_ONCE), text_of(MEGABYTE), end=True)
    watch.look()
    data = bomb()
    for i in range(990):
        compressed(attacker, AT_ONCE, data, True)
        if i % 50 == 0:
            watch.look()
    watch.for_seconds(0.5)
    attacker.close()


def test_large_requests_of_handlers_that_wait_are_bounded(watch):
    """Of calls that end with their messages, of others that do not, and of such that are abandoned."""
    data = bomb()
    for path, end, reset in ((LATER, True, False), (LATER, False, False), (LATER, True, True), (UPLOAD, False, False)):
        attacker = Connection(watch.server)
        for i in range(600):
            stream = compressed(attacker, path, data, end)
            if reset:
                attacker.reset(stream)
            if i % 50 == 0:
                watch.look()
        watch.for_seconds(0.3)
        attacker.close()


def test_messages_that_are_never_complete_are_bounded(watch):
    """Each is begun, within the limit of its size, on as many streams as there may be."""
    attackers = []
    for _ in range(3):
        attacker = Connection(watch.server)
        attackers.append(attacker)
        for _ in range(100):
            attacker.write(attacker.open(AT_ONCE), message(bytes(14_000), length=4_000_000))
        watch.look()
        for stream in range(1, 200, 2):
            for _ in range(20):
                attacker.write(stream, bytes(15_000))
            watch.look()
    watch.for_seconds(0.5)
    for attacker in attackers:
        attacker.close()


def test_a_length_of_all_ones_is_refused(watch):
    attacker = Connection(watch.server)
    reply = attacker.call(AT_ONCE, message(b"x", length=0xFFFFFFFF))
    assert reply.fields.get("grpc-status") == "8", f"grpc-status ({reply})"
    watch.look()


# Time

def closed_in_time(watch, sock, limit_s=8):
    assert watch.for_seconds(limit_s, lambda: closed_by_server(sock)), f"the connection still stands after {limit_s} s"


def test_a_hello_that_is_not_finished_is_closed(watch):
    for said in (b"", b"P", h2.PREFACE, h2.PREFACE + frame(h2.SETTINGS, 0, 0)[:5]):
        closed_in_time(watch, Connection(watch.server, said).socket)


def test_headers_that_come_byte_by_byte_are_closed(watch):
    attacker = Connection(watch.server)
    attacker.call(AT_ONCE, text_of(1))
    attacker.send(frame(h2.HEADERS, 0, 3, REQUEST))
    for _ in range(8):
        attacker.send(frame(h2.CONTINUATION, 0, 3, b"\x82"))
        watch.for_seconds(0.2)
    closed_in_time(watch, attacker.socket)


def test_a_message_that_comes_byte_by_byte_ends_its_call(watch):
    attacker = Connection(watch.server)
    stream = attacker.open(UPLOAD)
    attacker.write(stream, message(b"x", length=1_000_000))
    for _ in range(12):
        watch.for_seconds(0.2)
        attacker.write(stream, b"x")
    assert attacker.reply(stream).fields.get("grpc-status") == "8", "grpc-status"
    attacker.close()


def test_half_open_handshakes_are_closed(backend, certificates):
    made = certificates
    with Server(own("abuse_server"), made.server, made.server_key, env={"CORACLE_BACKEND": backend}) as server:
        watch = Watch(server, HealthyClient(server, ca=made.ca))
        half_open = []
        for i in range(200):
            sock = socket.create_connection(("127.0.0.1", server.port), h2.REPLY_LIMIT_S)
            if i % 2:
                sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            half_open.append(sock)
            watch.look()
        Watch(server, HealthyClient(server, ca=made.ca))  # a client that comes only now gets in, too
        def all_gone():
            half_open[:] = [sock for sock in half_open if not closed_by_server(sock)]
            return not half_open
        assert watch.for_seconds(10, all_gone), f"{len(half_open)} half-open handshakes still stand"
        assert server.stop() == 0, "the exit code at the end"
