"""A gRPC server that answers one call on each connection, with an empty message and a status, and then closes it."""

import contextlib
import socket
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A field of a header block that enters no table (RFC 7541 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def reply(stream, status, message):
    trailers = literal(b"grpc-status", status) + (literal(b"grpc-message", message) if message else b"")
    return (frame(HEADERS, END_HEADERS, stream, literal(b":status", b"200") + literal(b"content-type", b"application/grpc"))
            + frame(DATA, 0, stream, bytes(5))
            + frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers))


class FleetingServer:
    """Counts the connections whose client has sent its preface and got our SETTINGS."""

    def __init__(self, listener, *ending):
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self.connections = 0
        self._listener = listener
        self._ending = ending

    def serve(self):
        with contextlib.suppress(OSError):  # the listener has been closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            if stream.read(len(PREFACE)) != PREFACE:
                return
            self.connections += 1
            connection.sendall(frame(SETTINGS, 0, 0))
            while head := stream.read(9):
                stream.read(int.from_bytes(head[:3], "big"))
                kind, flags = head[3], head[4]
                if kind == SETTINGS and not flags & ACK:
                    connection.sendall(frame(SETTINGS, ACK, 0))
                if kind in (HEADERS, DATA) and flags & END_STREAM:
                    connection.sendall(reply(int.from_bytes(head[5:], "big"), *self._ending))
                    return


@contextlib.contextmanager
def fleeting_server(status=b"0", message=b""):
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = FleetingServer(listener, status, message)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
