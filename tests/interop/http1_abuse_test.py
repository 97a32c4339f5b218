"""Clients that mean harm over HTTP/1.1: what abuse_test.py does over HTTP/2, and what only HTTP/1.1 permits."""

import base64
import contextlib
import gzip
import re
import resource
import select
import socket
import struct
import time

import pytest

from abused_server import MEGABYTE, QUOTA_BYTES, REPLY_LIMIT_S, Watch, closed_by_server
from programs import Server, own

HOST = "host: localhost\r\n"
CALL = "POST /echo.Echo/SayAtOnce HTTP/1.1\r\n" + HOST + "content-type: application/proto\r\n"
REST = "POST /say HTTP/1.1\r\n" + HOST + "content-type: application/json\r\n"
UPLOAD = "POST /collect HTTP/1.1\r\n" + HOST + "content-type: application/json\r\n"
CHUNKED = "transfer-encoding: chunked\r\n\r\n"
TEN_BYTES = b"\x10\x0a"  # an echo.Text that asks for a reply of so many bytes


def counted(fields, body):
    return f"{fields}content-length: {len(body)}\r\n\r\n".encode() + body


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Client:
    """A connection that says exactly what it is told to."""

    def __init__(self, server, said=b""):
        self.socket = socket.create_connection(("127.0.0.1", server.port), REPLY_LIMIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.poured = 0
        self.send(said)

    def send(self, data):
        """Writes what it can: a server that has hung up is seen when reading."""
        try:
            self.socket.sendall(data.encode() if isinstance(data, str) else data)
        except OSError:
            pass

    def pour(self, piece, total, stuck_s=1.0, stops_at=select.POLLIN):
        """Sends the piece again and again until the server answers (unless stops_at is 0) or hangs up, has taken so many bytes, or
        takes no more; how many it took. The next call goes on with the piece where this one stopped."""
        taken, at = 0, self.poured % len(piece)
        self.socket.setblocking(False)
        poll = select.poll()
        poll.register(self.socket, stops_at | select.POLLOUT)
        while taken < total:
            if dict(poll.poll(1000 * stuck_s)).get(self.socket.fileno()) != select.POLLOUT:
                break
            try:
                sent = self.socket.send(piece[at:])
            except OSError:
                break
            taken, at = taken + sent, (at + sent) % len(piece)
        self.poured += taken
        self.socket.settimeout(REPLY_LIMIT_S)
        return taken

    def reply(self):
        """The status and the body of one reply with a length."""
        while True:
            head = re.match(rb"HTTP/1\.1 (\d+) .*?\r\ncontent-length: (\d+)\r\n(?:.*?\r\n)?\r\n", self.received, re.DOTALL | re.IGNORECASE)
            if head and len(self.received) >= head.end() + int(head[2]):
                end = head.end() + int(head[2])
                body, self.received = self.received[head.end():end], self.received[end:]
                return int(head[1]), body
            more = self.socket.recv(1 << 16)
            assert more, f"the server has closed the connection after {self.received!r}"
            self.received += more

    def end(self):
        """The status of the last reply, up to the end of the connection; None if there was none."""
        try:
            while more := self.socket.recv(1 << 16):
                self.received += more
        except ConnectionResetError:
            pass
        statuses = re.findall(rb"^HTTP/1\.1 (\d+) ", self.received, re.MULTILINE)
        return int(statuses[-1]) if statuses else None

    def expect_served(self):
        self.send(counted(CALL, TEN_BYTES))
        status, body = self.reply()
        assert (status, body[:2]) == (200, b"\x0a\x0a"), f"the healthy client's reply ({status}, {body!r})"

    def close(self):
        self.socket.close()


@contextlib.contextmanager
def watched_server(backend, **env):
    """A server of the test's own, which has to end well."""
    with Server(own("abuse_server"), env={"CORACLE_BACKEND": backend, **env}) as server:
        watch = Watch(server, Client(server))
        yield watch
        watch.stop()


@pytest.fixture
def watch(backend):
    with watched_server(backend) as watch:
        yield watch


# Time

CONNECTIONS = 10_000


@pytest.fixture
def descriptors():
    """Enough for all connections, of this process and of the servers that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = CONNECTIONS + 500
    assert hard >= needed, f"{CONNECTIONS} connections need as many descriptors; the limit is {hard}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(params=[QUOTA_BYTES // MEGABYTE, 128], ids=lambda mebibytes: f"quota_of_{mebibytes}_mib")
def slow_watch(request, backend):
    """The smaller quota is less than ten thousand connections hold, the larger one is more."""
    with watched_server(backend, QUOTA_MIB=str(request.param)) as watch:
        watch.holds_all = request.param > QUOTA_BYTES // MEGABYTE
        watch.bytes_max = QUOTA_BYTES + 4 * 1024 * CONNECTIONS  # what the quota does not count: the heap's and the loop's own
        yield watch


def test_ten_thousand_slow_clients_are_bounded(descriptors, slow_watch):
    """A third each begin their headers, begin their body, and keep their connections without a request. A server whose quota they
    exceed may end some without an answer; each of the others gets what its mistake deserves."""
    watch = slow_watch
    began = ((CALL.encode(), 408), (counted(CALL, b"x" * 1000)[:-999], 429), (counted(CALL, TEN_BYTES), None))
    slow = {}
    for i in range(CONNECTIONS):
        said, status = began[i % len(began)]
        slow[Client(watch.server, said)] = status
        if i % 1000 == 0:
            watch.look()
    waiting = [client for client, status in slow.items() if status]
    answered = lambda: len(select_readable(waiting)) == len(waiting)
    assert watch.for_seconds(10, answered), "slow headers or bodies still wait"
    for status in (408, 429):
        seen = {client.end() for client, wanted in slow.items() if wanted == status}
        assert seen == {status} if watch.holds_all else seen <= {status, None}, f"{status}: {seen}"
    served = next(client for client, status in slow.items() if not status and client.reply()[0] == 200)
    served.expect_served()
    watch.look()
    for client in slow:
        client.close()


def select_readable(clients):
    poll = select.poll()
    for client in clients:
        poll.register(client.socket, select.POLLIN)
    return poll.poll(0)


def test_a_client_that_does_not_finish_its_trailers_is_closed(watch):
    attacker = Client(watch.server, CALL + CHUNKED + "1\r\nx\r\n0\r\nx-trailer: 1\r\n")
    assert watch.for_seconds(8, lambda: closed_by_server(attacker.socket)), "the connection still stands"


# Messages without an end. The status of the limit, and how many bytes the server may take before.

ENDLESS = {
    "a request line": ("GET /", "x" * 8192, 414),
    "the lines of headers": (CALL, "x-header: 1\r\n", 431),
    "one line of headers": (CALL + "x-header: ", "x" * 8192, 431),
    "empty lines before a request": ("", "\r\n", 400),
    "the extension of a chunk": (CALL + CHUNKED + "1", ";a=b", 400),
    "the extensions of chunks": (CALL + CHUNKED, "1;" + "a" * 200 + "\r\nx\r\n", 400),
    "the size of a chunk": (CALL + CHUNKED, "0" * 8192, 400),
    "trailers": (CALL + CHUNKED + "1\r\nx\r\n0\r\n", "x-trailer: 1\r\n", 431),
    "one trailer": (CALL + CHUNKED + "1\r\nx\r\n0\r\nx-trailer: ", "x" * 8192, 431),
    "chunks of a byte": (CALL + CHUNKED, "1\r\nx\r\n" * 10_000, 429),
    "a body": (CALL + "content-length: 1000000000\r\n\r\n", "x" * 65_536, 429),
    "an element of an array": (UPLOAD + CHUNKED + '9\r\n[{"text":\r\n1\r\n"\r\n', "10000\r\n" + "x" * 65_536 + "\r\n", 429),
    "the depth of an array": (UPLOAD + CHUNKED + "1\r\n[\r\n", "10000\r\n" + "[" * 65_536 + "\r\n", 429),
    "space in an array": (UPLOAD + CHUNKED + "1\r\n[\r\n", "10000\r\n" + " " * 65_536 + "\r\n", 429),
}


def test_messages_without_an_end_end_at_a_limit(watch):
    for name, (begin, piece, status) in ENDLESS.items():
        attacker = Client(watch.server, begin)
        attacker.pour(piece.encode(), 48 * MEGABYTE, stuck_s=REPLY_LIMIT_S)
        assert attacker.end() == status, f"{name}: {attacker.received!r}"
        watch.look()
        attacker.close()


def test_json_that_is_nested_too_deeply_is_refused(watch):
    for depth in (101, 1_000_000):
        attacker = Client(watch.server, counted(REST, b'{"text":' + b"[" * depth))
        status, body = attacker.reply()
        assert (status, b"nested deeper than 100" in body) == (400, True), body
        attacker.close()
    watch.look()


def test_a_compressed_message_does_not_grow_beyond_the_limit(watch):
    bomb = gzip.compress(b" " * 64 * MEGABYTE)
    for fields in (CALL, REST):
        attacker = Client(watch.server, counted(fields + "content-encoding: gzip\r\n", bomb))
        assert attacker.reply()[0] == 429
        watch.look()
        attacker.close()


# Streams

def grpc_web(method, text=""):
    return f"POST /echo.Echo/{method} HTTP/1.1\r\n{HOST}content-type: application/grpc-web{text}+proto\r\n{CHUNKED}"


def connect(method):
    return f"POST /echo.Echo/{method} HTTP/1.1\r\n{HOST}content-type: application/connect+proto\r\n{CHUNKED}"


def envelope(payload, length=None):
    return struct.pack(">BI", 0, len(payload) if length is None else length) + payload


MANY_MESSAGES = envelope(b"\x10\x01") * 9_000


def test_streams_without_an_end_are_bounded(watch):
    """The handler reads: as much as a client sends may pass, and none of it stays."""
    for begin, piece in ((connect("Collect"), chunk(MANY_MESSAGES)), (grpc_web("Collect"), chunk(MANY_MESSAGES)),
                         (grpc_web("Collect", "-text"), chunk(base64.b64encode(MANY_MESSAGES))),
                         (UPLOAD + CHUNKED + "1\r\n[\r\n", chunk(b'{"count":1},' * 5_000))):
        attacker = Client(watch.server, begin)
        assert attacker.pour(piece, 2 * MEGABYTE) >= 2 * MEGABYTE, f"the server took no more ({attacker.end()})"
        watch.look()
        attacker.close()


def test_a_message_of_base64_without_an_end_is_refused(watch):
    for length in (100_000_000, 4_000_000):
        attacker = Client(watch.server, grpc_web("Collect", "-text"))
        attacker.send(chunk(base64.b64encode(envelope(b"x", length))))
        attacker.pour(chunk(b"QUJD" * 16_384), 6 * MEGABYTE)
        watch.look()
        attacker.close()


def test_a_handler_that_does_not_read_stops_its_client(watch):
    for begin, piece in ((connect("Chat"), chunk(MANY_MESSAGES)), (grpc_web("Chat"), chunk(MANY_MESSAGES)),
                         (grpc_web("Chat", "-text"), chunk(base64.b64encode(MANY_MESSAGES)))):
        attacker = Client(watch.server, begin)
        taken = attacker.pour(piece, 64 * MEGABYTE, stuck_s=0.3)
        assert taken < 16 * MEGABYTE, f"the server took {taken} bytes"
        watch.look()
        attacker.close()


# Replies that nobody reads

def get(target, fields=""):
    return f"GET {target} HTTP/1.1\r\n{HOST}{fields}\r\n".encode()


def hung_up(sock):
    """Whether the server has closed the connection, without reading what it has sent."""
    poll = select.poll()
    poll.register(sock, select.POLLHUP | select.POLLERR | select.POLLRDHUP)
    return bool(poll.poll(0))


def test_clients_that_do_not_read_are_closed(watch):
    """Requests without a pause: the server stops reading at a megabyte of replies. Replies without an end: their handler waits.
    Either is closed if nothing moves for the stall time."""
    pouring = {Client(watch.server): request * 1000
               for request in (get(f"/say/{MEGABYTE}"), get("/"), get("/say/1"), get("/say/*"))}
    attackers = list(pouring)
    for accept in ("text/event-stream", "application/json"):
        attackers += [Client(watch.server, get("/repeat", f"accept: {accept}\r\n")) for _ in range(10)]

    def all_hung_up():
        for attacker, requests in pouring.items():
            attacker.pour(requests, MEGABYTE, stuck_s=0, stops_at=0)
        return all(hung_up(each.socket) for each in attackers)

    assert watch.for_seconds(10, all_hung_up), "a connection still stands"
    for attacker in pouring:
        assert attacker.poured < 16 * MEGABYTE, f"the server took {attacker.poured} bytes of requests"
    for attacker in attackers:
        attacker.close()


# Connections

def test_connections_that_come_and_go_leave_nothing(watch):
    for i in range(3_000):
        said = (b"", CALL.encode(), counted(CALL, TEN_BYTES), grpc_web("Collect").encode())[i % 4]
        Client(watch.server, said).close()
        if i % 500 == 0:
            watch.look()
    watch.look()
