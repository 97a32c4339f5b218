"""What is around the calls of grpc++'s API, in programs that are built with coracle::grpcpp and with Debian's library: what they
see is the same in all four pairs, and in one process."""

import pytest

from programs import BIN, Server, own, run

LIMIT_S = 60

CHECKED_NAMES = "the certificate of a server must be for the target's name whatever the verifier; with grpc++ that decides alone"

# What differs from Debian's library, with which clients, and why, by case.
DIFFERENCES = {
    "a verifier of nothing": ("0 14 14", {"coracle"}, CHECKED_NAMES),
    "a verifier of the program": ("0 14 14", {"coracle"}, CHECKED_NAMES),
}


def built(program, library):
    """The path of the program."""
    if library == "google" and not (BIN / f"{program}_google").exists():
        pytest.skip("grpc++ (libgrpc++-dev) was not there when the tests were built")
    return own(f"{program}_{library}")


def around(library):
    return built("around", library)


def cases(ran):
    """What a program prints, by case."""
    assert ran.returncode == 0, ran.stderr
    lines = [line.split(": ", 1) for line in ran.stdout.decode().splitlines()]
    assert len({name for name, _ in lines}) == len(lines)
    return dict(lines)


def seen_by(client, server):
    with Server(around(server), "server") as serving:
        seen = cases(run(around(client), "client", serving.port, limit_s=LIMIT_S, data=b""))
        assert serving.stop() == 0
    return seen


def seen_alone(program, library, certificates):
    return cases(run(built(program, library), "alone", certificates.folder, limit_s=LIMIT_S, data=b""))


def same(seen, model, client):
    assert seen.keys() == model.keys()
    expected = {name: what for name, (what, clients, _) in DIFFERENCES.items() if client in clients and name in model}
    assert {name: what for name, what in seen.items() if what != model[name]} == expected


@pytest.fixture(scope="module")
def model():
    """What Debian's library does."""
    return seen_by("google", "google")


@pytest.mark.parametrize(("server", "client"), [("coracle", "google"), ("google", "coracle"), ("coracle", "coracle")])
def test_a_relinked_program_sees_the_same(server, client, model):
    same(seen_by(client, server), model, client)


@pytest.mark.parametrize(("program", "cases_min"), [("around", 35), ("settings", 20)])
def test_both_sides_in_one_process_see_the_same(program, cases_min, certificates):
    model = seen_alone(program, "google", certificates)
    assert len(model) >= cases_min
    same(seen_alone(program, "coracle", certificates), model, "coracle")


@pytest.mark.parametrize(("program", "cases_min"), [("interceptors", 32), ("tag_interceptors", 96)])
def test_interceptors_see_the_same_hook_points(program, cases_min):
    model, seen = (cases(run(built(program, library), "alone", limit_s=LIMIT_S, data=b"")) for library in ("google", "coracle"))
    assert len(model) >= cases_min
    assert seen == model
