"""curl over HTTP/2 by prior knowledge: a page to read, and gRPC with a body made by hand."""

import pathlib
import shutil
import tempfile

import pytest

from programs import run

GRPC = ("-H", "content-type: application/grpc", "-H", "te: trailers")


def field(number, value):
    """A protobuf field of bytes that are shorter than 128."""
    return bytes([number << 3 | 2, len(value)]) + value


def message(payload):
    """A message as it goes over the wire: not compressed, its length, itself."""
    return b"\0" + len(payload).to_bytes(4, "big") + payload


class Reply:
    """Status, header and trailer fields by name, and the body."""

    def __init__(self, server, path, *flags, body=None):
        if not shutil.which("curl"):
            pytest.skip("curl is not installed")
        with tempfile.TemporaryDirectory() as folder:
            head, content, data = (pathlib.Path(folder, name) for name in ("head", "content", "data"))
            data.write_bytes(body or b"")
            sent = ("--data-binary", f"@{data}") if body is not None else ()
            done = run("curl", "-sS", "--max-time", "20", "--http2-prior-knowledge", "-D", head, "-o", content, *flags, *sent,
                       f"http://{server.address}{path}")
            assert done.returncode == 0, f"curl's exit code ({done.stderr.strip()})"
            lines = head.read_text().splitlines()
            self.body = content.read_bytes() if content.exists() else b""
        self.status = lines[0].split()[1]
        self.fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def test_reads_the_page(server):
    reply = Reply(server, "/")
    assert reply.status == "200", "the status"
    assert reply.fields.get("content-type", "").startswith("text/"), f"the fields are {reply.fields}"
    assert len(reply.body) > 0, "the page is empty"


def test_does_not_find_another_page(server):
    assert Reply(server, "/nowhere").status == "404", "the status"


def test_a_head_request_has_the_fields_of_the_page(server):
    reply, page = Reply(server, "/", "-I"), Reply(server, "/")
    assert reply.status == "200", "the status"
    assert reply.fields.get("content-length") == str(len(page.body)), f"content-length in {reply.fields}"


def test_a_405_names_what_is_allowed(server):
    for path, allowed in (("/", "get, head"), ("/movie.MovieService/AddMovie", "post")):
        reply = Reply(server, path, "-X", "DELETE")
        assert (reply.status, reply.fields.get("allow")) == ("405", allowed), f"the answer for {path}"


def test_a_client_of_http1_gets_the_page_and_may_not_upgrade(server):
    done = run("curl", "-sS", "--max-time", "20", "--http1.1", "-D", "-", f"http://{server.address}/")
    assert done.returncode == 0, f"curl's exit code ({done.stderr.strip()})"
    assert done.stdout.startswith("HTTP/1.1 200 "), f"curl has {done.stdout!r}"
    grpc = run("curl", "-sS", "--max-time", "20", "--http1.1", "-D", "-", "-H", "content-type: application/grpc", "-d", "",
               f"http://{server.address}/movie.MovieService/AddMovie")
    assert grpc.stdout.startswith("HTTP/1.1 505 ") and "HTTP/2" in grpc.stdout.splitlines()[-1], f"curl has {grpc.stdout!r}"
    upgraded = run("curl", "-sS", "--max-time", "20", "--http2", "-o", "-", "-w", "%{http_code} %{http_version}", f"http://{server.address}/")
    assert upgraded.stdout.endswith("200 1.1"), f"with Upgrade: h2c curl has {upgraded.stdout!r}"


def test_calls_with_a_body_made_by_hand(server):
    reply = Reply(server, "/movie.MovieService/AddMovie", *GRPC, body=message(field(1 + 1, b"Nosferatu")))
    assert reply.status == "200", "the status"
    assert reply.fields.get("grpc-status") == "0", f"grpc-status in {reply.fields}"
    assert reply.fields["content-type"].startswith("application/grpc"), f"the fields are {reply.fields}"
    assert reply.body[:1] == b"\0" and int.from_bytes(reply.body[1:5], "big") == len(reply.body) - 5, f"the body is {reply.body!r}"
    assert reply.body[5:6] == b"\x0a", "the reply's first field"  # movie_id, a string


def test_sees_an_error_in_the_trailers(server):
    reply = Reply(server, "/movie.MovieService/AddMovie", *GRPC, body=message(b""))
    assert (reply.status, reply.fields.get("grpc-status")) == ("200", "3"), "the statuses"
    assert reply.body == b"", "the body"


def test_a_timeout_in_the_header_is_kept(server):
    Reply(server, "/movie.MovieService/AddMovie", *GRPC, body=message(field(2, b"Faust")))
    reply = Reply(server, "/movie.MovieService/ListMovies", *GRPC, "-H", "grpc-timeout: 200m", body=message(b"\x08\xe0\xd4\x03"))
    assert reply.fields.get("grpc-status") == "4", f"grpc-status in {reply.fields}"


def test_the_server_still_serves(server):
    server.expect_alive()
