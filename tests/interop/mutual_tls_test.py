"""Clients that have to prove who they are: grpcurl's and ours, against our movie server that asks for a certificate."""

import pytest

from certificates import Certificates
from programs import Server, own, peer, run


@pytest.fixture(scope="module")
def made(certificates):
    return certificates


@pytest.fixture(scope="module")
def server(backend, made):
    flags = ("--cert", made.server, "--key", made.server_key, "--client-ca", made.ca)
    with Server(own("movie_server"), "--port=0", *flags, env={"CORACLE_BACKEND": backend}) as one:
        yield one


def grpcurl(made, server, *more):
    return run(peer("grpcurl"), "-cacert", made.ca, *more, "-max-time", "20", server.address, "list")


def test_grpcurl_shows_its_certificate(made, server):
    done = grpcurl(made, server, "-cert", made.client, "-key", made.client_key)
    assert done.returncode == 0, f"grpcurl's exit code ({done.stderr.strip()[-300:]})"
    assert "movie.MovieService" in done.stdout, f"it lists {done.stdout!r}"


def test_grpcurl_is_refused_without_one(made, server):
    assert grpcurl(made, server).returncode != 0, "a client without a certificate was served"


def test_our_client_shows_its_certificate(made, server):
    done = run(own("movie_client"), server.address, "--ca", made.ca, "--cert", made.client, "--key", made.client_key)
    assert done.returncode == 0, f"the client's exit code ({done.stderr.strip()[-300:]})"


def test_our_client_is_refused_without_one(made, server):
    done = run(own("movie_client"), server.address, "--ca", made.ca)
    assert done.returncode == 1, "the client's exit code"
    assert "UNAVAILABLE" in done.stderr and "\n" not in done.stderr.strip(), f"it says {done.stderr!r}"


def test_our_client_is_refused_with_a_strangers(made, server, tmp_path):
    other = Certificates(tmp_path)
    done = run(own("movie_client"), server.address, "--ca", made.ca, "--cert", other.client, "--key", other.client_key)
    assert done.returncode == 1, "the client's exit code"


def test_the_server_ends_well(server):
    """The last test of this file."""
    assert server.stop() == 0, "the exit code"
