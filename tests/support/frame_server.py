"""What HTTP/2 servers of the tests share that write their frames themselves: the loop over a connection's frames."""

import contextlib
import socket
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A field of a header block that enters no table (RFC 7541 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


RESPONSE_BLOCK = literal(b":status", b"200") + literal(b"content-type", b"application/grpc")


class FrameServer:
    """Each connection gets a thread of its own, and our SETTINGS; SETTINGS and PING are acknowledged. What is done with HEADERS
    and DATA a class that derives from this says by conversation()."""

    def __init__(self, listener):
        self.address = f"127.0.0.1:{listener.getsockname()[1]}"
        self._listener = listener

    def conversation(self, connection):
        """Called for each connection whose client has sent its preface. Gives a function of a frame's type, flags, stream and
        payload, called for each HEADERS and DATA; once it returns True, the connection is closed."""
        raise NotImplementedError

    def serve(self):
        with contextlib.suppress(OSError):  # the listener has been closed
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as stream:
            if stream.read(len(PREFACE)) != PREFACE:
                return
            take = self.conversation(connection)
            connection.sendall(frame(SETTINGS, 0, 0))
            while head := stream.read(9):
                payload = stream.read(int.from_bytes(head[:3], "big"))
                kind, flags = head[3], head[4]
                if kind in (SETTINGS, PING) and not flags & ACK:
                    connection.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
                if kind in (HEADERS, DATA) and take(kind, flags, int.from_bytes(head[5:], "big"), payload):
                    return


@contextlib.contextmanager
def serving(make):
    """make(listener) gives a FrameServer, which serves until the end of the with statement."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        server = make(listener)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown(socket.SHUT_RDWR)
