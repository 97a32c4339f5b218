"""h2spec's strict suite against the movie server, on each backend, plaintext and TLS: all of its cases pass, none is skipped, and
the server still serves and ends well afterwards."""

import re

import pytest

from programs import Server, own, peer, run

CASES = 146
LIMIT_S = 180

# One server for three tests, in their order.
pytestmark = [pytest.mark.timeout(LIMIT_S + 20), pytest.mark.xdist_group("h2spec")]


@pytest.fixture(scope="module", params=["plaintext", "tls"])
def made(request, certificates):
    """The certificates over TLS, else None."""
    return certificates if request.param == "tls" else None


@pytest.fixture(scope="module")
def server(backend, made):
    flags = ("--cert", made.server, "--key", made.server_key) if made else ()
    with Server(own("movie_server"), "--port=0", *flags, env={"CORACLE_BACKEND": backend}) as one:
        yield one


def test_every_case_passes(server, made):
    done = run(peer("h2spec"), "-h", "127.0.0.1", "-p", server.port, "-o", "2", "-S", *(("-t", "-k") if made else ()), limit_s=LIMIT_S)
    score = re.search(r"^\d+ tests, .*", done.stdout, re.M)
    assert score and score[0] == f"{CASES} tests, {CASES} passed, 0 skipped, 0 failed", done.stdout[done.stdout.find("Failures:"):]


def test_the_server_still_serves(server, made):
    trust = ("--cacert", made.ca) if made else ()
    done = run("curl", "-sS", "--max-time", "10", "--http2-prior-knowledge", *trust, "-o", "/dev/null", "-w", "%{http_code}",
               f"{'https' if made else 'http'}://127.0.0.1:{server.port}/")
    assert done.stdout == "200", done.stderr


def test_the_server_ends_well(server):
    assert server.stop() == 0, "the exit code"
