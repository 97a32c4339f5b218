"""coracle before servers whose reflection or health service has gaps: they hide nothing else."""

import re

import pytest

from console_program import Console
from programs import own, run
from scripted_server import envelope, field, replies, scripted_server

NO_ANSWER = 2
# grpc.reflection.v1.ServerReflectionResponse
LIST, FILES, ERROR = 6, 4, 7
SYMBOL, LIST_SERVICES = 4, 7  # of the request
KNOWN = field(12, "proto3") + field(1, "known.proto") + field(2, "known") + field(4, field(1, "Nothing")) + field(
    6, field(1, "Service") + field(2, field(1, "Call") + field(2, ".known.Nothing") + field(3, ".known.Nothing")))


def answer(question):
    """A server that lists two services and has the definition of one."""
    if question is None:
        return b""
    if question.startswith(field(LIST_SERVICES, "*")):
        listed = field(1, field(1, "known.Service")) + field(1, field(1, "unknown.Service"))
        return envelope(field(LIST, listed))
    if b"unknown" in question:
        return envelope(field(ERROR, field(1, 5) + field(2, "no definition of it")))
    return envelope(field(FILES, field(1, KNOWN)))


def coracle(*words):
    done = run(own("coracle"), *words)
    assert done.returncode == 0, f"the exit code ({done.stderr})"
    return done.stdout


def test_a_service_without_a_definition_hides_no_other(tmp_path):
    with scripted_server(answer) as server:
        where = (server.address, "-p")
        assert coracle("ls", *where) == "known.Service\nunknown.Service\n"
        assert coracle("ls", "-m", *where) == "known.Service/Call\nunknown.Service (its definition is not available)\n"
        assert "service Service {" in coracle("describe", *where)
        assert "known.Service/Call" in coracle("openapi", *where) or "/known" in coracle("openapi", *where)
        coracle("describe", "--protoset-out", tmp_path / "all.bin", *where)
        assert coracle("ls", "--protoset", tmp_path / "all.bin") == "known.Service\n"
        done = run(own("coracle"), "call", *where, "unknown.Service/Call")
        assert "the definition of unknown.Service is not available: no definition of it" in done.stderr or "there is no method" in done.stderr


@pytest.mark.parametrize("messages", [(), (field(1, 1), field(1, 1))], ids=("none", "two"))
def test_health_of_a_service_with_another_number_of_replies_than_one(messages):
    with scripted_server(replies(*messages)) as server:
        done = run(own("coracle"), "health", server.address, "-p")
        assert done.returncode == NO_ANSWER, "the exit code"
        assert "hint: its health service does not follow grpc.health.v1: Check returns one reply" in done.stderr
        assert re.search("has no health service", done.stderr) is None


def test_the_console_shows_the_services_that_have_a_definition():
    with scripted_server(answer) as server, Console(server.address, "-p") as console:
        assert console.url
