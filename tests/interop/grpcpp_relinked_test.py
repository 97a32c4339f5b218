"""One program in the API of grpc++, built with coracle::grpcpp and with Debian's library: what a client sees is the same in all
four pairs. And a process has one of the two libraries."""

import ctypes.util
import signal

import pytest

from programs import BIN, Server, backends, own, run

CLIENT_LIMIT_S = 60

# What a client sees that is not what it sees with Debian's library alone, with which clients, and why, by case.
DIFFERENCES = {
    "unary error beyond the codes": (
        "2 'as asked for: \u00e9%\\n'  0 0", {"coracle", "google"}, "gRPC has 17 codes (doc/statuscodes.md): another number is UNKNOWN"),
    "queued talk start of no server": ("1+", {"coracle"}, "the call begins at once: its headers are sent when there is a connection"),
}


def harbour(library):
    """The path of the program."""
    if library == "google" and not (BIN / "harbour_google").exists():
        pytest.skip("grpc++ (libgrpc++-dev) was not there when the tests were built")
    return own(f"harbour_{library}")


def seen_by(client, server):
    """What a client prints, by case."""
    with Server(harbour(server), "server") as serving:
        calling = run(harbour(client), "client", serving.port, limit_s=CLIENT_LIMIT_S, data=b"")
        assert calling.returncode == 0, calling.stderr
        assert serving.stop() == 0
    cases = [line.split(": ", 1) for line in calling.stdout.decode("utf-8", "backslashreplace").split("\n")[:-1]]
    assert len({name for name, _ in cases}) == len(cases)
    return dict(cases)


@pytest.fixture(scope="module")
def model():
    """What Debian's library does."""
    return seen_by("google", "google")


@pytest.mark.parametrize(("server", "client"), [("coracle", "google"), ("google", "coracle"), ("coracle", "coracle")])
def test_a_relinked_program_sees_the_same(server, client, model):
    seen = seen_by(client, server)
    assert seen.keys() == model.keys()
    assert len(seen) >= 140
    expected = {name: what for name, (what, clients, _) in DIFFERENCES.items() if client in clients}
    assert {name: what for name, what in seen.items() if what != model[name]} == expected


def test_another_library_that_is_loaded_ends_the_program():
    library = ctypes.util.find_library("grpc++")
    if not library:
        pytest.skip("grpc++ (libgrpc++1.51) is not installed")
    loading = run(own("harbour_coracle"), "load", library)
    assert loading.returncode == -signal.SIGABRT, loading
    assert "this process also has Google's grpc++" in loading.stderr
    preloading = run(own("harbour_coracle"), "client", "1", env={"LD_PRELOAD": library})
    assert preloading.returncode == -signal.SIGABRT, preloading
    assert "this process also has Google's grpc++" in preloading.stderr


def test_another_library_that_is_linked_ends_the_program():
    linked = run(own("grpcpp_mixed"))
    assert linked.returncode == -signal.SIGABRT, linked
    assert "this process also has Google's grpc++" in linked.stderr


def test_a_library_that_is_no_other_one_may_be_loaded():
    loading = run(own("harbour_coracle"), "load", ctypes.util.find_library("z"))
    assert loading.returncode == 0, loading
    assert loading.stdout == "made a channel: 0\n"
