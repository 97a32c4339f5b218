"""Small programs as users of grpc++ write them (tests/adapters/grpcpp/programs), built with coracle::grpcpp and with Debian's
library. What they print is the same in all pairs of libraries and APIs."""

import re

import pytest

from programs import BIN, Background, Server, own, run

LIMIT_S = 60
LIBRARIES = ("google", "coracle")


@pytest.fixture(scope="session")
def both_libraries():
    """The paths of the programs by library."""
    if not (BIN / "programs_google").exists():
        pytest.skip("grpc++ (libgrpc++-dev) was not there when the tests were built")
    return {library: own(f"programs_{library}") for library in LIBRARIES}


def of_servers(*servers):
    """What servers that have ended print of what they have served. Libraries log to the same output."""
    return [line for server in servers for line in server.all_said() if line.startswith("server ")]


def called(program, name, port, *words):
    """What a client prints."""
    calling = run(program, "client", name, port, *words, limit_s=LIMIT_S)
    assert calling.returncode == 0, calling.stderr
    return calling.stdout.splitlines()


def seen(programs, server, client, *words):
    """What a pair prints. Each side is a pair of a library and a program."""
    with Server(programs[server[0]], "server", server[1], *words) as serving:
        lines = called(programs[client[0]], client[1], serving.port, *words)
        assert serving.stop() == 0
        return lines + of_servers(serving)


def pairs(of_programs):
    """All pairs of a server and a client, but for those that the model is. The ids of those that stand for the others begin with
    the two libraries: labels.py."""
    all_of_them = [((server, server_program), (client, client_program))
                   for server_program in of_programs for client_program in of_programs for server in LIBRARIES for client in LIBRARIES]
    return [pytest.param(server, client, id=f"{server[0]}-{client[0]} {server[1]}" if server[1] == client[1] else
                         f"{server[1]} {server[0]}-{client[1]} {client[0]}") for server, client in all_of_them]


GUIDES = ("guide_sync", "guide_queue", "guide_callback")


@pytest.fixture(scope="module")
def guide_model(both_libraries):
    lines = seen(both_libraries, ("google", "guide_sync"), ("google", "guide_sync"))
    assert len(lines) == 21
    return lines


@pytest.mark.parametrize(("server", "client"), pairs(GUIDES))
def test_a_guide_is_the_same_in_each_api_of_each_library(server, client, both_libraries, guide_model):
    assert seen(both_libraries, server, client) == guide_model


@pytest.fixture(scope="module")
def store_model(both_libraries):
    lines = seen(both_libraries, ("google", "store"), ("google", "store"))
    assert len(lines) == 20
    return lines


@pytest.mark.parametrize(("server", "client"), pairs(("store",)))
def test_a_store_of_threads_is_the_same(server, client, both_libraries, store_model):
    assert seen(both_libraries, server, client) == store_model


@pytest.mark.parametrize(("store", "proxy", "client"), [
    pytest.param(store, proxy, client, id=f"{proxy}-{client} {store}") for store in LIBRARIES for proxy in LIBRARIES for client in LIBRARIES])
def test_a_proxy_with_one_queue_for_both_sides_changes_nothing(store, proxy, client, both_libraries, store_model):
    with Server(both_libraries[store], "server", "store") as storing:
        with Server(both_libraries[proxy], "server", "store_proxy", storing.port) as between:
            lines = called(both_libraries[client], "store", between.port)
            assert between.stop() == 0
        assert storing.stop() == 0
    assert lines + of_servers(storing) == store_model
    assert of_servers(between) == ["server between: 420 calls 0 open"]


@pytest.mark.parametrize(("store", "proxy", "client"), [
    pytest.param(store, proxy, client, id=f"{proxy}-{client} {store}") for store in LIBRARIES for proxy in LIBRARIES for client in LIBRARIES])
def test_a_proxy_that_knows_no_methods_changes_nothing(store, proxy, client, both_libraries, store_model):
    with Server(both_libraries[store], "server", "store") as storing:
        with Server(both_libraries[proxy], "server", "generic_proxy", storing.port) as between:
            lines = called(both_libraries[client], "store", between.port)
            assert between.stop() == 0
        assert storing.stop() == 0
    assert lines + of_servers(storing) == store_model
    assert of_servers(between) == ["server between: 420 calls 0 open"]


# What a client sees that is not what it sees with Debian's library alone, by program: with which libraries of server and client,
# the beginnings of the lines, and why.
DIFFERENCES = {
    "retries": [
        ({("google", "coracle"), ("coracle", "coracle")}, ("time left by the config", "time left by a later deadline"),
         "a timeout of the service config is the call's deadline, which the server is told"),
        ({("google", "coracle"), ("coracle", "coracle")}, ("stream that fails", "server has done"),
         "a stream is retried while its client reads; grpc++'s waits until the deadline"),
    ],
    "health": [
        ({("coracle", "google"), ("coracle", "coracle")}, ("a service that is not known",),
         "the service is registered; without a status of its own it has the server's"),
    ],
}
SIMPLE = ("files", "compression", "retries", "health", "auth")


@pytest.fixture(scope="module")
def models(both_libraries, certificates):
    """What a program prints with Debian's library, by program."""
    return {program: seen(both_libraries, ("google", program), ("google", program), *words_for(program, certificates))
            for program in SIMPLE}


def words_for(program, certificates):
    return [certificates.folder] if program == "auth" else []


@pytest.mark.parametrize(("server", "client"), [pair for program in SIMPLE for pair in pairs((program,))])
def test_a_program_sees_the_same(server, client, both_libraries, models, certificates):
    program = server[1]
    lines = seen(both_libraries, server, client, *words_for(program, certificates))
    differ = tuple(line for libraries, starts, _ in DIFFERENCES.get(program, []) if (server[0], client[0]) in libraries for line in starts)
    model = models[program]
    assert len(lines) >= 10
    assert [line for line in lines if not line.startswith(differ)] == [line for line in model if not line.startswith(differ)]
    assert all(any(line.startswith(start) for line in set(lines) - set(model)) for start in differ), "a difference is gone"


CHATS = ("chat", "chat_callback")


@pytest.mark.parametrize(("server", "library", "client"), [
    pytest.param(server, library, client, id=f"{'coracle-google ' if server == client else ''}{client} with {server} of {library}")
    for server in CHATS for library in LIBRARIES for client in CHATS])
def test_members_of_a_chat_with_both_libraries_see_the_same(server, library, client, both_libraries):
    with Server(both_libraries[library], "server", server, "6") as serving:
        with Background(both_libraries["google"], "client", client, serving.port, "Ada", "Bela", "Cem") as others:
            lines = called(both_libraries["coracle"], client, serving.port, "Dora", "Emil", "Fee")
            assert others.process.wait(LIMIT_S) == 0
            lines += others.all_said()
        assert serving.stop() == 0
    assert lines == [f"{name}: 0 {name} 301 1" for name in ("Dora", "Emil", "Fee", "Ada", "Bela", "Cem")]
    assert of_servers(serving) == ["server has heard: 300"]


CANCELLED = "cancelled while the server stops"


def stopped(programs, server, client, *words):
    """What a server and its client print, if the server stops while all calls of the client are on their way; and the numbers of
    calls that the server has answered, and of answers that the client has got."""
    with Server(programs[server[0]], "server", server[1], *words) as serving:
        with Background(programs[client], "client", "shutdown_sync", serving.port, *words) as calling:
            calling.wait_for(re.compile("all are at work"), LIMIT_S)
            assert serving.stop() == 0
            assert calling.process.wait(LIMIT_S) == 0
            lines = [line for line in calling.all_said() if not re.match(r"[A-Z]\d{4} ", line)] + of_servers(serving)
    counts = [int(line.split(": ")[1]) for line in lines if line.startswith(("server has answered", "answers"))]
    return [line for line in lines if not line.startswith(("server has answered", "answers"))], counts


@pytest.fixture(scope="module")
def shutdown_model(both_libraries):
    lines, _ = stopped(both_libraries, ("google", "shutdown_sync"), "google")
    return [line for line in lines if line != CANCELLED]


@pytest.mark.parametrize(("server", "client"), pairs(("shutdown_sync",)) + [
    pytest.param((server, "shutdown_queue"), (client, None), id=f"{server}-{client} shutdown_queue")
    for server in LIBRARIES for client in LIBRARIES])
def test_a_server_that_stops_under_load_finishes_what_has_begun(server, client, both_libraries, shutdown_model):
    lines, (answers, answered) = stopped(both_libraries, server, client[0])
    assert answers == answered
    assert [line for line in lines if line != CANCELLED] == shutdown_model
    # Google's server may cancel calls that come meanwhile. Ours never does.
    assert CANCELLED not in lines or server[0] == "google"


@pytest.fixture(scope="module")
def held_model(both_libraries):
    return stopped(both_libraries, ("google", "shutdown_sync"), "google", "now")


@pytest.mark.parametrize("client", LIBRARIES)
@pytest.mark.parametrize("program", ["shutdown_sync", "shutdown_queue"])
@pytest.mark.parametrize("server", LIBRARIES)
def test_a_server_that_must_stop_now_cancels_what_is_held(server, program, client, both_libraries, held_model):
    assert stopped(both_libraries, (server, program), client, "now") == held_model
