"""coracle over TLS, when it cannot: it names its own options, and never invites anybody to do without."""

import pytest

from programs import Server, own, run

UNAVAILABLE, USAGE = 14, 64


@pytest.fixture(scope="module")
def made(certificates):
    return certificates


@pytest.fixture(scope="module")
def server(made):
    with Server(own("movie_server"), "--port=0", "--cert", made.server, "--key", made.server_key, "--client-ca", made.ca) as one:
        yield one


def says(words, not_these, *command):
    done = run(own("coracle"), *command)
    assert done.returncode == UNAVAILABLE, f"the exit code ({done.stderr[-300:]})"
    hint = done.stderr.rstrip().splitlines()[-1]
    assert all(word in hint for word in words), f"the hint is {hint!r}"
    assert not any(word in hint for word in not_these), f"the hint is {hint!r}"


def test_who_is_not_trusted(server, made):
    says(["--ca", "--server-name"], ["--plaintext"], "ls", server.address)


def test_who_has_another_name(server, made):
    says(["--ca", "--server-name"], ["--plaintext"], "ls", server.address, "--ca", made.ca, "--server-name", "other.example")


def test_who_wants_a_certificate(server, made):
    says(["--cert", "--key"], ["--plaintext"], "ls", server.address, "--ca", made.ca)


def test_who_speaks_no_tls(server, made):
    with Server(own("greeter_server"), "127.0.0.1:0") as plain:
        says(["--plaintext"], [], "ls", plain.address)


def test_what_contradicts_itself(server, made):
    done = run(own("coracle"), "ls", server.address, "--no-verify", "--ca", made.ca)
    assert done.returncode == USAGE, "the exit code"
    assert "remove --ca and --server-name" in done.stderr, f"it says {done.stderr!r}"


def test_what_is_no_address(server, made):
    done = run(own("coracle"), "ls", "127.0.0.1:99999", "-p")
    assert done.returncode == UNAVAILABLE, "the exit code"
    assert "write host:port" in done.stderr and "TLS" not in done.stderr, f"it says {done.stderr!r}"
