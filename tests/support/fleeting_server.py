"""A gRPC server that answers one call on each connection, with an empty message and a status, and then closes it."""

from frame_server import DATA, END_HEADERS, END_STREAM, HEADERS, RESPONSE_BLOCK, FrameServer, frame, literal, serving


def reply(stream, status, message):
    trailers = literal(b"grpc-status", status) + (literal(b"grpc-message", message) if message else b"")
    return (frame(HEADERS, END_HEADERS, stream, RESPONSE_BLOCK) + frame(DATA, 0, stream, bytes(5))
            + frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers))


class FleetingServer(FrameServer):
    """Counts the connections whose client has sent its preface."""

    def __init__(self, listener, *ending):
        super().__init__(listener)
        self.connections = 0
        self._ending = ending

    def conversation(self, connection):
        self.connections += 1

        def take(_, flags, stream, __):
            if flags & END_STREAM:
                connection.sendall(reply(stream, *self._ending))
            return flags & END_STREAM
        return take


def fleeting_server(status=b"0", message=b""):
    return serving(lambda listener: FleetingServer(listener, status, message))
