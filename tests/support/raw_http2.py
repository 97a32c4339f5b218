"""An HTTP/2 client that says exactly what it is told to, right or wrong, and reports what comes back."""

import socket
import ssl
import struct
import time

import hpack
import pytest


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS = 0x1, 0x1, 0x4
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, FRAME_SIZE_ERROR, CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 5, 6, 8, 9, 11
REPLY_LIMIT_S = 15


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def number(value, prefix_bits):
    """RFC 7541 5.1, for a first byte whose other bits are clear."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([value])
    out, value = [limit], value - limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def block(fields):
    """A header block of literals that enter no table: whatever the names and values are."""
    out = b""
    for name, value in fields:
        name, value = name.encode(), value.encode()
        out += b"\0" + number(len(name), 7) + name + number(len(value), 7) + value
    return out


def grpc_fields(path, *more, method="POST", content_type="application/grpc"):
    return [(":method", method), (":scheme", "http"), (":path", path), (":authority", "test"), ("te", "trailers"),
            *([("content-type", content_type)] if content_type else []), *more]


def message(payload, flag=0, length=None):
    return struct.pack(">BI", flag, len(payload) if length is None else length) + payload


class Reply:
    """What came on one stream: header lists, data, and how it ended ('end', 'reset', 'goaway' or 'closed')."""

    def __init__(self):
        self.lists, self.data, self.ended, self.code = [], b"", None, None

    @property
    def fields(self):
        return {name: value for fields in self.lists for name, value in fields}

    def __str__(self):
        return f"{self.ended}({self.code}) {self.lists} and {len(self.data)} bytes"


class Connection:
    def __init__(self, server, preface=PREFACE + frame(SETTINGS, 0, 0), ca=None, source=None):
        """ca: the file of a CA that vouches for the server; without one, plaintext. source: the client's address."""
        self.socket = socket.create_connection(("127.0.0.1", server.port), REPLY_LIMIT_S, source and (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if ca:
            trust = ssl.create_default_context(cafile=ca)
            trust.set_alpn_protocols(["h2"])
            self.socket = trust.wrap_socket(self.socket, server_hostname="localhost")
        self.headers = hpack.Decoder()
        self.replies, self.goaway, self.closed, self.next_stream = {}, None, False, 1
        self.send(preface)

    def send(self, data):
        """Writes what it can: a server that has hung up is seen when reading."""
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def open(self, path, *more, end=False, **how):
        """Starts a request; its stream."""
        return self.open_block(block(grpc_fields(path, *more, **how)), end)

    def open_block(self, fields, end=False):
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, fields))
        return stream

    def write(self, stream, data, end=False):
        self.send(frame(DATA, END_STREAM if end else 0, stream, data))

    def reset(self, stream, code=CANCEL):
        self.send(frame(RST_STREAM, 0, stream, struct.pack(">I", code)))

    def call(self, path, data, *more, **how):
        stream = self.open(path, *more, **how)
        self.write(stream, data, end=True)
        return self.reply(stream)

    def reply(self, stream):
        """Waits until the stream, or the connection, has ended."""
        self.read_until(lambda: self.on(stream).ended)
        return self.on(stream)

    def end(self):
        """Waits until the server has closed the connection; the code of its GOAWAY, None when it sent none."""
        self.read_until(lambda: self.closed)
        return self.goaway

    def on(self, stream):
        return self.replies.setdefault(stream, Reply())

    def read_until(self, true):
        until = time.monotonic() + REPLY_LIMIT_S
        while not true():
            assert time.monotonic() < until, f"the server says no more for {REPLY_LIMIT_S} s"
            if self.closed:
                pytest.fail(f"the connection was closed (GOAWAY {self.goaway})")
            self._read_frame()

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("end of the stream of bytes")
            data += part
        return data

    def _read_frame(self):
        try:
            head = self._exactly(9)
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big") & 0x7FFFFFFF
            payload = self._exactly(int.from_bytes(head[:3], "big"))
        except TimeoutError:
            pytest.fail(f"the server says nothing for {REPLY_LIMIT_S} s")
        except OSError:
            self.closed = True
            for reply in self.replies.values():
                reply.ended = reply.ended or ("goaway" if self.goaway is not None else "closed")
            return
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.goaway = int.from_bytes(payload[4:8], "big")
        elif kind == RST_STREAM:
            self.on(stream).ended = self.on(stream).ended or "reset"
            self.on(stream).code = int.from_bytes(payload, "big")
        elif kind == DATA:
            self.on(stream).data += payload
        elif kind == HEADERS:
            assert flags & END_HEADERS, "a header block in pieces: this client does not put them together"
            self.on(stream).lists.append([(name, value) for name, value in self.headers.decode(payload)])
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.on(stream).ended = self.on(stream).ended or "end"

    def close(self):
        self.socket.close()
