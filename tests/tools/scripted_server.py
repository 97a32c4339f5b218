"""A gRPC server that answers with whatever bytes a test gives it, and the protobuf encoding to write them with."""

import contextlib
import socket
import threading

from fleeting_server import ACK, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, frame, literal

PING = 6
FRAME_BYTES = 16384


def varint(number):
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def field(number, value):
    """A field of a message: an int as a varint, everything else with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def envelope(message):
    return bytes(1) + len(message).to_bytes(4, "big") + message


class ScriptedServer:
    """answers: for each call of a connection, in their order, a function from a request's bytes to the bytes that follow it,
    envelopes included; from None, which is the end of the requests, to the bytes before the status, which is OK. The last
    function answers all further calls."""

    def __init__(self, listener, answers):
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._listener = listener
        self._answers = answers

    def serve(self):
        with contextlib.suppress(OSError):  # the listener has been closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            if stream.read(len(PREFACE)) != PREFACE:
                return
            connection.sendall(frame(SETTINGS, 0, 0))
            calls, requests = [], {}
            while head := stream.read(9):
                payload = stream.read(int.from_bytes(head[:3], "big"))
                kind, flags, number = head[3], head[4], int.from_bytes(head[5:], "big")
                if kind in (SETTINGS, PING) and not flags & ACK:
                    connection.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
                if kind == HEADERS:
                    calls.append(number)
                    requests[number] = b""
                    connection.sendall(frame(HEADERS, END_HEADERS, number,
                                             literal(b":status", b"200") + literal(b"content-type", b"application/grpc")))
                if kind in (HEADERS, DATA) and number in requests:
                    answer = self._answers[min(calls.index(number), len(self._answers) - 1)]
                    requests[number] += payload if kind == DATA else b""
                    while len(requests[number]) >= 5 and len(requests[number]) >= 5 + (size := int.from_bytes(requests[number][1:5], "big")):
                        self._send(connection, number, answer(requests[number][5:5 + size]))
                        requests[number] = requests[number][5 + size:]
                    if flags & END_STREAM:
                        self._send(connection, number, answer(None))
                        connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, number, literal(b"grpc-status", b"0")))

    @staticmethod
    def _send(connection, number, data):
        for begin in range(0, len(data), FRAME_BYTES):
            connection.sendall(frame(DATA, 0, number, data[begin:begin + FRAME_BYTES]))


@contextlib.contextmanager
def scripted_server(*answers):
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = ScriptedServer(listener, answers)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def replies(*messages):
    """An answer: these messages, once the requests have ended."""
    return lambda request: b"".join(envelope(one) for one in messages) if request is None else b""
