"""Programs in the API of grpc++, built with coracle::grpcpp and with Debian's library: what they see is the same in all four pairs.
And a process has one of the two libraries."""

import ctypes.util
import functools
import os
import re
import signal
import subprocess

import pytest

from programs import BIN, ROOT, Server, backends, own, run

CLIENT_LIMIT_S = 60
SIDE_LIMIT_S = 40  # of a client whose server has a part of each case
END_LIMIT_S = 10  # of a server whose client has ended
MODEL_RUNS = 5  # of a program with Debian's library

NO_MESSAGE = "the initial metadata of a stream that ends with OK before its first message are empty, not missing"

# What a client sees that is not what it sees with Debian's library alone, with which clients, and why, by program and case.
DIFFERENCES = {"client_calls": {
    "unary error beyond the codes": (
        "2 'as asked for: \u00e9%\\n'  0 0", {"coracle", "google"}, "gRPC has 17 codes (doc/statuscodes.md): another number is UNKNOWN"),
    "queued bidi stream cancelled": (
        "1+ 2- 3+ 1", {"coracle"}, "the operations of a cancelled call end in the order in which they began; with grpc++ Finish() is first"),
}, "callbacks": {
    "server stream of none": ("metadata+ read- done=0 none none", {"coracle"}, NO_MESSAGE),
    "server stream of none that nothing reads": ("metadata+ done=0 none none", {"coracle"}, NO_MESSAGE),
    "server stream holds alone": ("metadata+ held+ done=0 none none", {"coracle"}, NO_MESSAGE),
}}
# Libraries of server and client.
PAIRS = [("coracle", "google"), ("google", "coracle"), ("coracle", "coracle")]
CASES_MIN = {"client_calls": 140, "callbacks": 60}
# The cases of programs in which both sides have a part, by the tables in their sources.
CASE = re.compile(r'\{"([^"]+)",\s+(?:serve|nothing_to_serve)')
TWO_SIDED = {program: [case for source in sorted((ROOT / "tests/adapters/grpcpp").glob(f"{program}_*_cases.cpp"))
                       for case in CASE.findall(source.read_text())] for program in ("server_queues", "generic")}
TWO_SIDED_MIN = {"server_queues": 27, "generic": 19}


def built(program, library):
    """The path of the program."""
    if library == "google" and not (BIN / f"{program}_google").exists():
        pytest.skip("grpc++ (libgrpc++-dev) was not there when the tests were built")
    return own(f"{program}_{library}")


def by_case(lines):
    """What a program prints, by case."""
    cases = [line.split(": ", 1) for line in lines]
    assert len({name for name, _ in cases}) == len(cases)
    return dict(cases)


def seen_by(program, client, server):
    """What a client prints, by case."""
    with Server(built(program, server), "server") as serving:
        calling = run(built(program, client), "client", serving.port, limit_s=CLIENT_LIMIT_S, data=b"")
        assert calling.returncode == 0, calling.stderr
        assert serving.stop() == 0
    return by_case(calling.stdout.decode("utf-8", "backslashreplace").split("\n")[:-1])


@functools.cache
def seen_by_both(program, client, server, backend=None, run=0):
    """What a server with completion queues and its client print, by case, and what is wrong with their ends. Each line is
    "CASE: what" or "CASE / PART: what", with "server " before those of the server. run: another number is another run."""
    env = {"CORACLE_BACKEND": backend} if backend else None
    with Server(built(program, server), "server", env=env) as serving:
        lines, fault = printed_by_client(built(program, client), serving.port, env)
        faults = [f"the client {fault}"] if fault else []
        try:
            if code := serving.process.wait(END_LIMIT_S):
                faults.append(f"the server ended with {code}")
        except subprocess.TimeoutExpired:
            faults.append(f"the server runs {END_LIMIT_S} s after the end of its client")
    seen = {}
    of_server = [line for line in serving.all_said() if line.startswith("server ")]
    for line, named in [(line, line.removeprefix("server ")) for line in of_server] + [(line, line) for line in lines]:
        seen.setdefault(named.split(": ")[0].split(" / ")[0], []).append(line)
    return seen, faults


def printed_by_client(program, port, env):
    """The lines, up to its end or the limit, and what is wrong with the end."""
    try:
        calling = subprocess.run([program, "client", str(port)], stdin=subprocess.DEVNULL, capture_output=True, timeout=SIDE_LIMIT_S,
                                 env={**os.environ, **(env or {})})
        output, fault = calling.stdout, f"ended with {calling.returncode}: {calling.stderr}" if calling.returncode else None
    except subprocess.TimeoutExpired as expired:
        output, fault = expired.stdout or b"", f"still runs after {SIDE_LIMIT_S} s"
    return output.decode("utf-8", "backslashreplace").splitlines(), fault


@pytest.fixture(scope="module")
def model():
    """What Debian's library does, by program."""
    return functools.cache(lambda program: seen_by(program, "google", "google"))


@pytest.mark.parametrize(("server", "client"), PAIRS)
@pytest.mark.parametrize("program", CASES_MIN)
def test_a_relinked_program_sees_the_same(program, server, client, model):
    seen = seen_by(program, client, server)
    assert seen.keys() == model(program).keys()
    assert len(seen) >= CASES_MIN[program]
    expected = {name: what for name, (what, clients, _) in DIFFERENCES[program].items() if client in clients}
    assert {name: what for name, what in seen.items() if what != model(program)[name]} == expected


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(("server", "client"), PAIRS)
@pytest.mark.parametrize(("program", "case"), [(program, case) for program, cases in TWO_SIDED.items() for case in cases])
def test_a_relinked_server_with_queues_sees_the_same(program, case, server, client, backend):
    seen, faults = seen_by_both(program, client, server, backend)
    # Debian's library does not order all events of a call: what it shows in one of several runs may be seen.
    models = (seen_by_both(program, "google", "google", run=run)[0][case] for run in range(MODEL_RUNS))
    first = next(models)
    assert seen.get(case) == first or seen.get(case) in models, (first, seen.get(case), faults)


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize(("server", "client"), [("google", "google")] + PAIRS)
@pytest.mark.parametrize("program", TWO_SIDED)
def test_all_cases_with_queues_are_run_to_the_end(program, server, client, backend):
    seen, faults = seen_by_both(program, client, server, None if server == client == "google" else backend)
    assert not faults
    assert seen.keys() == set(TWO_SIDED[program])
    assert len(TWO_SIDED[program]) >= TWO_SIDED_MIN[program]


# What a program may do with coracle::grpcpp, while Debian's library ends it: what ours prints, and why it differs.
NOT_ENDED = {
    "server": ("finished twice: 1+ 2+ 5+ 3- 0\n", "an operation after the end of its call fails, whichever it is"),
    "client": ("finished twice: 1- 2+ 3+ 1\n", "the status of a stream may be asked for again"),
}


@pytest.mark.parametrize("side", NOT_ENDED)
def test_a_call_that_is_finished_twice_ends_a_program_with_grpcpp_alone(side):
    with_google = run(built("server_queues", "google"), "twice", side, limit_s=CLIENT_LIMIT_S)
    assert with_google.returncode == -signal.SIGABRT, with_google
    ours = run(built("server_queues", "coracle"), "twice", side, limit_s=CLIENT_LIMIT_S)
    assert (ours.returncode, ours.stdout) == (0, NOT_ENDED[side][0]), ours


def test_another_library_that_is_loaded_ends_the_program():
    library = ctypes.util.find_library("grpc++")
    if not library:
        pytest.skip("grpc++ (libgrpc++1.51) is not installed")
    loading = run(built("client_calls", "coracle"), "load", library)
    assert loading.returncode == -signal.SIGABRT, loading
    assert "this process also has Google's grpc++" in loading.stderr
    preloading = run(built("client_calls", "coracle"), "client", "1", env={"LD_PRELOAD": library})
    assert preloading.returncode == -signal.SIGABRT, preloading
    assert "this process also has Google's grpc++" in preloading.stderr


def test_another_library_that_is_linked_ends_the_program():
    linked = run(own("grpcpp_mixed"))
    assert linked.returncode == -signal.SIGABRT, linked
    assert "this process also has Google's grpc++" in linked.stderr


def test_a_library_that_is_no_other_one_may_be_loaded():
    loading = run(built("client_calls", "coracle"), "load", ctypes.util.find_library("z"))
    assert loading.returncode == 0, loading
    assert loading.stdout == "made a channel: 0\n"
