"""A gRPC server that answers with whatever bytes a test gives it, and the protobuf encoding to write them with."""

from frame_server import DATA, END_HEADERS, END_STREAM, HEADERS, RESPONSE_BLOCK, FrameServer, frame, literal, serving

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


class ScriptedServer(FrameServer):
    """answers: for each call of a connection, in their order, a function from a request's bytes to the bytes that follow it,
    envelopes included; from None, which is the end of the requests, to the bytes before the status, which is OK. The last
    function answers all further calls."""

    def __init__(self, listener, answers):
        super().__init__(listener)
        self._answers = answers

    def conversation(self, connection):
        calls, requests = [], {}

        def take(kind, flags, number, payload):
            if kind == HEADERS:
                calls.append(number)
                requests[number] = b""
                connection.sendall(frame(HEADERS, END_HEADERS, number, RESPONSE_BLOCK))
            if number not in requests:
                return
            answer = self._answers[min(calls.index(number), len(self._answers) - 1)]
            requests[number] += payload if kind == DATA else b""
            while len(requests[number]) >= 5 and len(requests[number]) >= 5 + (size := int.from_bytes(requests[number][1:5], "big")):
                self._send(connection, number, answer(requests[number][5:5 + size]))
                requests[number] = requests[number][5 + size:]
            if flags & END_STREAM:
                self._send(connection, number, answer(None))
                connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, number, literal(b"grpc-status", b"0")))
        return take

    @staticmethod
    def _send(connection, number, data):
        for begin in range(0, len(data), FRAME_BYTES):
            connection.sendall(frame(DATA, 0, number, data[begin:begin + FRAME_BYTES]))


def scripted_server(*answers):
    return serving(lambda listener: ScriptedServer(listener, answers))


def replies(*messages):
    """An answer: these messages, once the requests have ended."""
    return lambda request: b"".join(envelope(one) for one in messages) if request is None else b""
