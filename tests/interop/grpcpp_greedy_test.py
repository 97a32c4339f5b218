"""Clients that take more of a synchronous server in the API of grpc++ than is theirs, and their neighbours."""

import time

from programs import Server, own
from raw_http2 import Connection, message

STREAMS = 100
OK, RESOURCE_EXHAUSTED = "0", "8"
GREEDY, NEIGHBOUR = "127.0.0.1", "127.0.0.2"
END_LIMIT_S = 30  # of connections, handlers and idle threads


def figures(server):
    """The threads of the server, and its memory and the most of it so far, in MiB."""
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        said = dict(line.split(":", 1) for line in status)
    return int(said["Threads"]), int(said["VmRSS"].split()[0]) >> 10, int(said["VmHWM"].split()[0]) >> 10


def wait_for(true):
    end = time.monotonic() + END_LIMIT_S
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    assert true()


def query(ask, count):
    def varint(n):
        return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
    return message(b"\x0a" + varint(len(ask)) + ask + b"\x10" + varint(count))


def outcome(server, source):
    """The status of a short call."""
    connection = Connection(server, source=source)
    reply = connection.call("/call_kinds.CallKinds/Unary", query(b"x", 1))
    connection.close()
    return reply.fields["grpc-status"]


def idle_streams(server):
    connection = Connection(server, source=GREEDY)
    for _ in range(STREAMS):
        connection.write(connection.open("/call_kinds.CallKinds/BidiStream"), message(b""))
    return connection


def test_a_client_with_idle_streams_takes_no_handlers_from_its_neighbours():
    with Server(own("client_calls_coracle"), "server") as server:
        before, _, _ = figures(server)
        held = []
        while outcome(server, GREEDY) == OK and len(held) < 200:
            held.append(idle_streams(server))
        assert outcome(server, GREEDY) == RESOURCE_EXHAUSTED
        assert outcome(server, NEIGHBOUR) == OK
        for connection in held:
            connection.close()
        wait_for(lambda: figures(server)[0] < before + 20)  # idle threads have ended
        assert outcome(server, GREEDY) == OK
        server.stop()


def test_memory_of_replies_that_a_client_does_not_read_is_limited_and_returns():
    with Server(own("client_calls_coracle"), "server") as server:
        _, before, _ = figures(server)
        held = [Connection(server, source=GREEDY) for _ in range(30)]
        for connection in held:
            for _ in range(20):
                connection.write(connection.open("/call_kinds.CallKinds/Unary"), query(b"large", 4 << 20), end=True)
        # Until the server closes the first of them, because the quota of 1 GiB is exceeded.
        wait_for(lambda: any("holds the most memory" in line for line in server.said))
        assert outcome(server, NEIGHBOUR) == OK
        for connection in held:
            connection.close()
        wait_for(lambda: figures(server)[1] < before + 150)
        assert figures(server)[2] < 2_000
        server.stop()
