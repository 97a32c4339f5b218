"""What our client makes of a server that answers wrongly: always a status that fits, never a crash or a wait for ever."""

import gzip
import random
import re
import socket
import struct
import threading

import pytest

from programs import own, run

pytest.importorskip("hpack", reason="./dev peers installs it")

import raw_http2 as h2  # noqa: E402
from raw_http2 import block, frame, message  # noqa: E402

HEAD = [(":status", "200"), ("content-type", "application/grpc")]
WELL = [("grpc-status", "0")]


def headers(fields, end=False):
    return frame(h2.HEADERS, h2.END_HEADERS | (h2.END_STREAM if end else 0), 1, block(fields))


def large_headers(fields, end=False):
    """In as many frames as it takes."""
    whole = block(fields)
    parts = [whole[i:i + 16384] for i in range(0, len(whole), 16384)]
    kinds = [h2.HEADERS] + [h2.CONTINUATION] * (len(parts) - 1)
    return b"".join(frame(kind, (h2.END_HEADERS if i == len(parts) - 1 else 0) | (h2.END_STREAM if end and i == 0 else 0), 1, part)
                    for i, (kind, part) in enumerate(zip(kinds, parts)))


def body(data, end=False):
    return frame(h2.DATA, h2.END_STREAM if end else 0, 1, data)


def answer(data, *more, trailers=WELL):
    return headers([*HEAD, *more]) + body(data) + headers(trailers, end=True)


def reset(code):
    return frame(h2.RST_STREAM, 0, 1, struct.pack(">I", code))


def goaway(code, last=0):
    return frame(h2.GOAWAY, 0, 0, struct.pack(">II", last, code))


class FakeServer:
    """Takes connections; once a request has ended it says what it was given, and hangs up if told to."""

    def __init__(self, says, hangs_up=False, greeting=frame(h2.SETTINGS, 0, 0), listens=True):
        self.says, self.hangs_up, self.greeting, self.listens = says, hangs_up, greeting, listens
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        with one, one.makefile("rb") as stream:
            try:
                one.sendall(self.greeting)
                if self.listens:
                    stream.read(len(h2.PREFACE))
                    self._until_request_ends(stream)
                one.sendall(self.says)
                while not self.hangs_up and stream.read(1):
                    pass  # until the client has gone
            except OSError:
                pass

    @staticmethod
    def _until_request_ends(stream):
        while head := stream.read(9):
            stream.read(int.from_bytes(head[:3], "big"))
            if head[3] in (h2.DATA, h2.HEADERS) and head[4] & h2.END_STREAM:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def status_against(server, case="empty_unary"):
    """The name of the status that interop_client's call ends with; OK when the case passes."""
    done = run(own("interop_client"), f"--server_port={server.port}", f"--test_case={case}", limit_s=15)
    assert done.returncode in (0, 1), f"the client ended with {done.returncode}: {done.stderr[-300:]}"
    found = re.search(r": ([A-Z_]+)", done.stderr)
    return "OK" if done.returncode == 0 else found[1] if found else done.stderr


def words_against(server):
    done = run(own("interop_client"), f"--server_port={server.port}", "--test_case=empty_unary", limit_s=15)
    assert done.returncode == 1, "the exit code"
    return done.stderr


def ends_with(status, says, case="empty_unary", **how):
    with FakeServer(says, **how) as server:
        assert status_against(server, case) == status, "the status"


EMPTY = message(b"")
CASES = {
    "AGoodAnswerIsOk": ("OK", answer(EMPTY)),
    "AnAnswerInPiecesIsOk": ("OK", headers(HEAD) + b"".join(body(EMPTY[i:i + 1]) for i in range(5)) + headers(WELL, end=True)),
    "Http404IsUnimplemented": ("UNIMPLEMENTED", headers([(":status", "404")], end=True)),
    "Http503IsUnavailable": ("UNAVAILABLE", headers([(":status", "503"), ("content-type", "text/html")]) + body(b"later", end=True)),
    "Http401IsUnauthenticated": ("UNAUTHENTICATED", headers([(":status", "401")], end=True)),
    "Http418IsUnknown": ("UNKNOWN", headers([(":status", "418")], end=True)),
    "NoGrpcStatusIsUnknown": ("UNKNOWN", headers(HEAD) + body(EMPTY, end=True)),
    "AStatusThatIsNoNumberIsUnknown": ("UNKNOWN", headers([*HEAD, ("grpc-status", "fine")], end=True)),
    "AStatusPastTheKnownIsUnknown": ("UNKNOWN", headers([*HEAD, ("grpc-status", "99")], end=True)),
    "OkWithoutAMessageIsUnimplemented": ("UNIMPLEMENTED", headers([*HEAD, *WELL], end=True)),
    "TwoMessagesAreUnimplemented": ("UNIMPLEMENTED", answer(EMPTY * 2)),
    "AMessageCutByTheEndIsInternal": ("INTERNAL", answer(message(b"\x0a", length=9))),
    "AMessageThatDoesNotParseIsInternal": ("INTERNAL", answer(message(b"\x0a\xff"))),
    "AMessageOverTheLimitIsResourceExhausted": ("RESOURCE_EXHAUSTED", headers(HEAD) + body(message(b"\x0a", length=1 << 30))),
    "ACompressedMessageWithoutAnEncodingIsInternal": ("INTERNAL", answer(message(b"", flag=1))),
    "AnUnknownEncodingIsInternal": ("INTERNAL", answer(message(b"x", flag=1), ("grpc-encoding", "snail"))),
    "ACompressedAnswerIsOk": ("OK", answer(message(gzip.compress(b""), flag=1), ("grpc-encoding", "gzip"))),
    "ACompressedAnswerThatIsCutShortIsInternal":
        ("INTERNAL", answer(message(gzip.compress(b"")[:-1], flag=1), ("grpc-encoding", "gzip"))),
    "ABombIsResourceExhausted":
        ("RESOURCE_EXHAUSTED", answer(message(gzip.compress(bytes(8 << 20)), flag=1), ("grpc-encoding", "gzip"))),
    "AnotherFormOfMessagesIsInternal":
        ("INTERNAL", headers([(":status", "200"), ("content-type", "application/grpc+json")]) + body(message(b"{}"))
         + headers(WELL, end=True)),
    "AnErrorAfterAMessageIsTheError": ("ABORTED", answer(EMPTY, trailers=[("grpc-status", "10"), ("grpc-message", "no%20more")])),
    "AnErrorWithAMessageOfAnySizeIsTheError":
        ("ABORTED", headers(HEAD) + large_headers([("grpc-status", "10"), ("grpc-message", "%C3%A9" * 20_000)], end=True)),
    "AnErrorAfterLargeMetadataIsTheError": ("ABORTED", large_headers([*HEAD, ("x-large", "y" * 200_000), ("grpc-status", "10")], end=True)),
    "OkWithLargeMetadataIsResourceExhausted":
        ("RESOURCE_EXHAUSTED", headers(HEAD) + body(EMPTY) + large_headers([*WELL, ("x-large", "y" * 200_000)], end=True)),
    "LargeInitialMetadataIsResourceExhausted":
        ("RESOURCE_EXHAUSTED", large_headers([*HEAD, ("x-large", "y" * 200_000)]) + body(EMPTY) + headers(WELL, end=True)),
    "HugeMetadataIsResourceExhausted": ("RESOURCE_EXHAUSTED", large_headers([*HEAD, ("x-large", "y" * 1_100_000)], end=True)),
    "ResetWithInternalErrorIsInternal": ("INTERNAL", reset(h2.INTERNAL_ERROR)),
    "ResetWithCancelIsCancelled": ("CANCELLED", reset(h2.CANCEL)),
    "ResetWithEnhanceYourCalmIsResourceExhausted": ("RESOURCE_EXHAUSTED", reset(h2.ENHANCE_YOUR_CALM)),
    "ResetAfterTheAnswersEndIsOk": ("OK", answer(EMPTY) + reset(h2.NO_ERROR)),
    "GarbageInAHeaderBlockIsNotOk": ("UNAVAILABLE", frame(h2.HEADERS, h2.END_HEADERS, 1, b"\xff" * 10)),
}

# The same to a client that reads a stream, which learns of it in next().
STREAM_CASES = {name: CASES[name] for name in (
    "AMessageCutByTheEndIsInternal", "AMessageThatDoesNotParseIsInternal", "AMessageOverTheLimitIsResourceExhausted",
    "ACompressedMessageWithoutAnEncodingIsInternal", "ResetWithCancelIsCancelled", "Http503IsUnavailable",
    "NoGrpcStatusIsUnknown")}
STREAM_CASES["NoGrpcStatusIsUnknown"] = ("UNKNOWN", headers(HEAD, end=True))
IN_PIECES = {"AMessageThatDoesNotParseIsInternal": ("INTERNAL", headers(HEAD) + body(b"\0\0") + body(b"\0\0\2\x0a\xff")),
             "AMessageOverTheLimitIsResourceExhausted": ("RESOURCE_EXHAUSTED", headers(HEAD) + body(b"\0\x7f") + body(b"\0\0\0"))}
GONE = {"hangs_up": True}
LOST = {
    "AConnectionThatIsLostIsUnavailable": (b"", GONE),
    "AConnectionLostWithinAnAnswerIsUnavailable": (headers(HEAD) + body(EMPTY[:3]), GONE),
    "AGoawayBeforeTheCallIsUnavailable": (goaway(h2.NO_ERROR), GONE),
    "AnHttp1ServerIsUnavailable": (b"", {**GONE, "greeting": b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"}),
}


def each(cases):
    return pytest.mark.parametrize(("status", "says"), cases.values(), ids=cases)


@each(CASES)
def test_a_unary_call_ends_as_it_should(status, says):
    ends_with(status, says)


@each(STREAM_CASES)
def test_a_stream_ends_as_it_should(status, says):
    ends_with(status, says, "server_streaming")


@each(IN_PIECES)
def test_a_stream_in_pieces_ends_as_it_should(status, says):
    ends_with(status, says, "server_streaming")


@pytest.mark.parametrize(("says", "how"), LOST.values(), ids=LOST)
def test_a_lost_connection(says, how):
    ends_with("UNAVAILABLE", says, **how)


@pytest.mark.parametrize(("first", "words"), [
    (b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", "the server does not speak HTTP/2: it answers in HTTP/1"),
    (b"<!DOCTYPE HTML>\n<title>Error</title>\n", "the server does not speak HTTP/2: it answers with a page of HTML"),
    (b"SSH-2.0-OpenSSH_9.2p1\r\n", "the server does not speak HTTP/2: it is an SSH server"),
    (b"220 mail.example ESMTP\r\n", "the server does not speak HTTP/2: its first octets are no frame"),
    (b"\x15\x03\x03\0\2\2\x46", "the server requires TLS, and the client connects in plaintext"),
    (b"", "without an answer: does it require TLS?"),
], ids=["http1", "html", "ssh", "smtp", "tls", "silence"])
def test_a_server_that_speaks_another_protocol_is_named(first, words):
    with FakeServer(b"", greeting=first, hangs_up=True, listens=bool(first)) as server:
        assert words in words_against(server)


def test_noise_is_survived():
    chance = random.Random(11)
    for _ in range(40):
        noise = chance.randbytes(chance.randrange(1, 3000))
        with FakeServer(noise, hangs_up=True, listens=chance.random() < 0.5) as server:
            assert status_against(server) != "OK", "noise is taken for an answer"
