"""Memory of what stands still: idle connections, and open streams."""

import pathlib
import resource
import select
import socket
import struct
import time

from harness import machine, servers

IDLE_CONNECTIONS = 10_000
STREAM_CONNECTIONS, STREAMS_EACH = 100, 100
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, UNKNOWN = 0, 1, 4, 0xfa
ACK, END_STREAM, END_HEADERS = 1, 1, 4
HELLO = PREFACE + bytes(3) + bytes([SETTINGS, 0]) + bytes(4) + bytes(3) + bytes([SETTINGS, ACK]) + bytes(4)
SETTLE_S = 3  # longer than a server keeps buffers for connections that have just been used
ROWS = {"idle connection": (IDLE_CONNECTIONS, 3072), "connection after a call": (IDLE_CONNECTIONS, None),
        "open stream": (STREAM_CONNECTIONS * STREAMS_EACH, 1536)}  # how many, and the goal for each
KINDS = [servers.Kind("coracle io_uring", "bin/bench_greeter", CORACLE_BACKEND="io_uring"),
         servers.Kind("coracle epoll", "bin/bench_greeter", CORACLE_BACKEND="epoll")]


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def request_block(path="/idle.Idle/Hold", content_type="application/grpc"):
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "bench"),
              ("te", "trailers"), ("content-type", content_type)]
    return b"".join(b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
                    for name, value in fields)


def anonymous_bytes(pid):
    """What the process has of its own; the program's text and shared pages are not in it."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) * 1024
    raise machine.Failure("the kernel does not tell a process's anonymous memory")


def connect(port, count):
    sockets = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", int(port)), 10)
        one.sendall(HELLO)
        sockets.append(one)
    return sockets


def swallow(sockets):
    """Reads what the server has to say until it is silent."""
    poll = select.epoll()
    by_number = {one.fileno(): one for one in sockets}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    while ready := poll.poll(0.5):
        for number, _ in ready:
            if not by_number[number].recv(1 << 16):
                raise machine.Failure("the server closed a connection that was to stand still")
    poll.close()


def message(text):
    return b"\0" + struct.pack(">IBB", len(text) + 2, 0x0a, len(text)) + text


def grown(kind, build, act):
    """Bytes that a server grows by while act(port) stands. What a loop receives into is its own, whatever it serves:
    frames of a type that nobody knows have it touched before."""
    with servers.running(kind, build) as server:
        warm = connect(server.port, 10)
        for _ in range(300):
            warm[0].sendall(frame(UNKNOWN, 0, 0, bytes(16384)))
        swallow(warm)
        for one in warm:
            one.close()
        time.sleep(0.5)
        before = anonymous_bytes(server.process.pid)
        held = act(server.port)
        swallow(held)
        time.sleep(SETTLE_S)
        after = anonymous_bytes(server.process.pid)
        for one in held:
            one.close()
        return after - before


def call(connection, path, stream, last):
    connection.sendall(frame(HEADERS, END_HEADERS, stream, request_block(path)) +
                       frame(DATA, END_STREAM if last else 0, stream, message(b"x")))


def connect_and_call(port):
    held = connect(port, IDLE_CONNECTIONS)
    for one in held:
        call(one, "/helloworld.Greeter/SayHello", 1, last=True)
    return held


def open_streams(port):
    held = connect(port, STREAM_CONNECTIONS)
    for one in held:
        for stream in range(1, 2 * STREAMS_EACH, 2):
            call(one, "/idle.Idle/Hold", stream, last=False)
    return held


def run(chosen):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < IDLE_CONNECTIONS + 100:
        raise machine.Failure(f"{IDLE_CONNECTIONS} connections need as many descriptors; the limit is {hard}")
    results = {}
    for kind in KINDS:
        if chosen.only not in kind.name:
            continue
        acts = (lambda port: connect(port, IDLE_CONNECTIONS), connect_and_call, open_streams)
        results[kind.name] = {row: grown(kind, chosen.build, act) / count
                              for (row, (count, _)), act in zip(ROWS.items(), acts)}
    return results


def report(results):
    lines = [f"Memory, anonymous bytes each, of {IDLE_CONNECTIONS} connections, and of {STREAMS_EACH} streams with a message "
             f"echoed on each of {STREAM_CONNECTIONS} connections"]
    lines.append(f"  {'':28}" + "".join(f"{kind:>20}" for kind in results))
    for row, (_, goal) in ROWS.items():
        name = f"{row} (goal {goal})" if goal else row
        lines.append(f"  {name:28}" + "".join(f"{of[row]:20.0f}" for of in results.values()))
    return "\n".join(lines)
