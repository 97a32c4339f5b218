"""Standard services, metadata, addresses, settings and interceptors in programs that are built with coracle::grpcpp and with
Debian's library: what they see is the same in all four pairs, and in one process."""

import pytest

from programs import BIN, Server, backends, own, run

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


def cases(ran):
    """What a program prints, by case."""
    assert ran.returncode == 0, ran.stderr
    lines = [line.split(": ", 1) for line in ran.stdout.decode().splitlines()]
    assert len({name for name, _ in lines}) == len(lines)
    return dict(lines)


def seen_by(client, server, program="extensions"):
    with Server(built(program, server), "server") as serving:
        seen = cases(run(built(program, client), "client", serving.port, limit_s=LIMIT_S, data=b""))
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


LOST_WHEN_CALLS_FAIL = "the original loses these keys with the initial metadata of a call that fails"
KEPT_BY_ITS_CALL = "of a call that succeeds, and before the end of a call, the field has no meaning"

# What differs in metadata, by case: what is seen, the sides that make the difference, and why.
METADATA_DIFFERENCES = {
    "sent by a client host=other.example": ("0 none", {"client", "server"}, "a client sends no host beside :authority (RFC 9113 8.3.1)"),
    **{f"initial of a server that fails {pair}": ("5, initial 1, trailing none", {"server"}, LOST_WHEN_CALLS_FAIL)
       for pair in ("user-agent=mine/1.0", "host=other.example", "grpc-retry-pushback-ms=1000", "grpc-previous-rpc-attempts=1", "lb-token=mine")},
    **{f"{case} grpc-status-details-bin=mine": (f"{code}, initial none, trailing none", {"client"}, KEPT_BY_ITS_CALL)
       for case, code in (("initial of a server", 0), ("initial of a server that fails", 5), ("trailing of a server", 0))},
}


@pytest.fixture(scope="module")
def metadata_model():
    seen = seen_by("google", "google", "metadata")
    assert len(seen) >= 190
    return seen


def is_forbidden(case):
    return case.startswith("forbidden, ")


@pytest.mark.parametrize(("server", "client"), [("coracle", "google"), ("google", "coracle"), ("coracle", "coracle")])
def test_calls_carry_the_same_metadata(server, client, metadata_model):
    seen = seen_by(client, server, "metadata")
    assert seen.keys() == metadata_model.keys()
    ours = {side for side, library in (("server", server), ("client", client)) if library == "coracle"}
    expected = {name: what for name, (what, sides, _) in METADATA_DIFFERENCES.items() if sides & ours}
    different = {name: what for name, what in seen.items() if what != metadata_model[name] and not is_forbidden(name)}
    assert different == expected


def test_what_http2_forbids_is_dropped_and_the_call_succeeds():
    seen = {name: what for name, what in seen_by("coracle", "coracle", "metadata").items() if is_forbidden(name)}
    assert len(seen) == 30
    for name, what in seen.items():
        there = "0 and 1 of others" if "x-spaces" in name else "none"
        if "sent by a client" in name:
            assert what == f"0 {there}", name
            continue
        code = 5 if "fails" in name else 0
        initial, trailing = (there, "none") if "initial" in name else ("none", there)
        assert what == f"{code}, initial {initial}, trailing {trailing}", name


@pytest.mark.parametrize("backend", backends())
def test_servers_listen_on_the_same_addresses(backend, tmp_path):
    model, seen = (cases(run(built("addresses", library), "alone", tmp_path, limit_s=LIMIT_S, data=b"", env={"CORACLE_BACKEND": backend}))
                   for library in ("google", "coracle"))
    assert len(model) >= 100
    assert seen == model


@pytest.mark.parametrize(("program", "cases_min"), [("extensions", 35), ("settings", 20), ("details", 38)])
def test_both_sides_in_one_process_see_the_same(program, cases_min, certificates):
    model = seen_alone(program, "google", certificates)
    assert len(model) >= cases_min
    same(seen_alone(program, "coracle", certificates), model, "coracle")


@pytest.mark.parametrize(("program", "cases_min"), [("interceptors", 32), ("tag_interceptors", 96)])
def test_interceptors_see_the_same_hook_points(program, cases_min):
    model, seen = (cases(run(built(program, library), "alone", limit_s=LIMIT_S, data=b"")) for library in ("google", "coracle"))
    assert len(model) >= cases_min
    assert seen == model
