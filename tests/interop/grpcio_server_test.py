"""Our movie client against the example's server on grpcio and against our own, plaintext and TLS."""

import sys

import pytest

import movie_stubs
import programs
from programs import Server, own, run

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

GRPCIO = (sys.executable, "-B", programs.MOVIE_PROTO.parent / "python/server.py")
OURS = (programs.BIN / "movie_server", "--port=0")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """What the example's server finds in its environment: its own generated code."""
    folder = tmp_path_factory.mktemp("stubs")
    movie_stubs.generate(folder)
    return {"PYTHONPATH": str(folder)}


@pytest.mark.parametrize("tls", [False, True], ids=["plaintext", "tls"])
@pytest.mark.parametrize("command", [GRPCIO, OURS], ids=["grpcio", "its_own_server"])
def test_our_client_passes(command, tls, backend, stubs, certificates):
    flags = ("--cert", certificates.server, "--key", certificates.server_key) if tls else ()
    with Server(*command, *flags, env={"CORACLE_BACKEND": backend, **stubs}) as server:
        client = run(own("movie_client"), server.address, *(("--ca", certificates.ca) if tls else ()), env={"CORACLE_BACKEND": backend})
        assert client.returncode == 0, f"the exit code ({client.stdout[-300:]} {client.stderr[-300:]})"
        for step in ("unary", "client streaming", "server streaming", "bidirectional", "deadline"):
            assert step in client.stdout, f"the client does not show its step {step!r}: {client.stdout}"


def test_our_client_notices_a_server_that_is_not_there(stubs):
    with Server(*GRPCIO, env=stubs) as server:
        address = server.address
    client = run(own("movie_client"), address)
    assert client.returncode not in (0, None) and client.returncode > 0, f"the exit code is {client.returncode}"
    assert "UNAVAILABLE" in client.stdout + client.stderr, f"it says {client.stdout!r} {client.stderr!r}"
