"""The examples, run as their READMEs say; movie has scripts of its own."""

import os
import socket
import subprocess
import tempfile

import pytest

from fleeting_server import fleeting_server
from programs import Server, own, run


COROUTINES = ("event", "latch", "wait_group", "mutex", "when_all", "condition_variable", "channel", "broadcast", "watch",
              "semaphore", "generator", "parallel_for", "udp", "resolver", "spread")


def client(name, server, *words, backend):
    done = run(own(name), server.address, *words, env={"CORACLE_BACKEND": backend})
    assert done.returncode == 0, f"the exit code ({done.stdout[-400:]} {done.stderr[-400:]})"
    return done.stdout


def test_greeter_greets(backend):
    with Server(own("greeter_server"), "127.0.0.1:0", env={"CORACLE_BACKEND": backend}) as server:
        assert "Hello, Ada" in client("greeter_client", server, "Ada", backend=backend), "no greeting came"
        assert server.stop() == 0, "the server's exit code"


def test_sums_are_added_without_coroutines(backend):
    with Server(own("sums_server"), "127.0.0.1:0", env={"CORACLE_BACKEND": backend}) as server:
        shown = client("sums_client", server, backend=backend)
        for line in ("1 + 2 = 3", "3 + 4 = 7", "counted to 1000", "accumulated 36"):
            assert line in shown, f"the client does not show {line!r}: {shown}"
        assert server.stop() == 0, "the server's exit code"


def test_relay_passes_deadline_and_cancellation(backend):
    env = {"CORACLE_BACKEND": backend}
    with Server(own("relay_server"), "--port=0", env=env) as last, \
            Server(own("relay_server"), "--port=0", "--next", last.address, env=env) as middle, \
            Server(own("relay_server"), "--port=0", "--next", middle.address, env=env) as first:
        shown = client("relay_client", first, backend=backend)
        for step in ("2 hops", "Ada, in the baggage", "deadline", "cancel"):
            assert step in shown, f"the client does not show {step!r}: {shown}"
        for server in (first, middle, last):
            assert server.stop() == 0, "a server's exit code"


def test_protobufs_services_echo_through_a_relay(backend):
    env = {"CORACLE_BACKEND": backend, "CORACLE_LOG": "info"}
    with Server(own("protobuf_echo_server"), "--port=0", env=env) as last, \
            Server(own("protobuf_echo_server"), "--port=0", "--next", last.address, env=env) as first:
        shown = client("protobuf_echo_client", first, backend=backend)
        assert shown.splitlines() == [
            "Recv Echo Rsp, status:success, rsp: Echo >>>>>>> hello, Echo.",
            "Recv RelayEcho Rsp, status:success, rsp: Echo >>>>>>> Relay Call >>>>>> hello, RelayEcho."]
        stressed = client("protobuf_echo_stress", first, "--callers=50", "--seconds=0.5", backend=backend)
        assert "of 50 callers" in stressed and ", 0 failed" in stressed, stressed
        for server in (first, last):
            assert server.stop() == 0, "a server's exit code"


def test_a_proxy_passes_on_the_whole_tour_of_movies(backend):
    env = {"CORACLE_BACKEND": backend}
    with Server(own("movie_server"), "--port=0", env=env) as movies, \
            Server(own("proxy"), "--port=0", "--to", movies.address, env=env) as proxy:
        shown = client("movie_client", proxy, backend=backend)
        assert "all calls returned what was expected" in shown, f"the tour through the proxy was not right: {shown}"
        for server in (proxy, movies):
            assert server.stop() == 0, "a server's exit code"


def test_bearer_opens_to_whoever_has_the_token(backend, certificates):
    made = certificates
    env = {"CORACLE_BACKEND": backend, "CORACLE_LOG": "info"}
    words = ("--port=0", "--cert", made.server, "--key", made.server_key, "--token", "sesame")
    with Server(own("bearer_server"), *words, env=env) as server:
        for token, told in (("sesame", None), ("sesam", "not valid"), ("", "not valid")):
            done = run(own("bearer_client"), server.address, "--ca", made.ca, "--token", token, env=env)
            assert done.returncode == (0 if told is None else 1), f"the exit code ({done.stdout} {done.stderr})"
            shown = "a pearl" if told is None else "UNAUTHENTICATED"
            assert shown in done.stdout + done.stderr, f"neither shows {shown}: {done.stdout} {done.stderr}"
            assert told is None or told in done.stderr, f"it does not say why: {done.stderr}"
        assert server.stop() == 0, "the server's exit code"


def test_echo_gives_back_a_pipe_and_a_file(backend):
    env = {"CORACLE_BACKEND": backend}
    text = "".join(f"line {i}\n" for i in range(5000))
    with Server(own("echo_server"), "--port=0", env=env) as server, tempfile.TemporaryFile("w+") as typed:
        piped = run(own("echo_client"), server.address, data=text, env=env)
        assert piped.returncode == 0, f"the exit code ({piped.stderr[-400:]})"
        assert piped.stdout == text, "what came back is not what was typed"
        typed.write(text)
        typed.seek(0)
        redirected = subprocess.run([own("echo_client"), server.address], stdin=typed, capture_output=True, text=True,
                                    timeout=30, env={**os.environ, **env})
        assert redirected.stdout == text, "what came back is not what the file holds"
        with socket.create_connection(("127.0.0.1", server.port)):  # one that only stays does not hold up the end
            assert server.stop() == 0, "the server's exit code"


def test_chat_sends_a_deaf_guest_away(backend):
    env = {"CORACLE_BACKEND": backend}
    with Server(own("chat_server"), "--port=0", env=env) as server:
        guests = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(5)]
        files = [guest.makefile("rw", newline="\n") for guest in guests]
        for here, guest in enumerate(files):  # hears himself: he is in the room
            guest.write(f"guest {here}\n")
            guest.flush()
            for other in files[:here + 1]:
                line = other.readline()
                while line not in (f"guest {here}\n", ""):
                    line = other.readline()
                assert line == f"guest {here}\n", "what a guest hears"
        deaf = guests[0]
        for i in range(500):  # guest 0 reads nothing of these, which are more than the sockets and his queue hold
            files[1].write("x" * 60_000 + f"{i}\n")
            files[1].flush()
            for guest in files[1:]:
                assert guest.readline() == "x" * 60_000 + f"{i}\n", "what the others hear beside a deaf guest"
        got = 0
        while more := deaf.recv(1 << 20):
            got += len(more)
        assert got < 500 * 60_000, "the deaf guest was not sent away"
        assert server.stop() == 0, "the server's exit code"


def test_copy_copies(backend, tmp_path):
    source, target = tmp_path / "from", tmp_path / "to"
    for size in (0, 1, 1 << 20, (5 << 20) + 17):
        source.write_bytes(os.urandom(size))
        target.unlink(missing_ok=True)
        done = run(own("copy_file"), source, target, env={"CORACLE_BACKEND": backend})
        assert done.stdout == f"copied {size} bytes\n", f"what it says ({done.stderr})"
        assert source.read_bytes() == target.read_bytes(), f"the copy of {size} bytes differs"
    again = run(own("copy_file"), source, target, env={"CORACLE_BACKEND": backend})
    assert again.returncode == 1, "the exit code where the target exists"
    assert "ALREADY_EXISTS" in again.stderr, f"it does not say why: {again.stderr}"


@pytest.mark.parametrize("loop", ["poll", "uv", "glib"])
def test_runs_inside_a_foreign_loop(backend, loop):
    done = run(own(f"foreign_loop_{loop}"), env={"CORACLE_BACKEND": backend})
    assert done.returncode == 0, f"the exit code ({done.stdout[-400:]} {done.stderr[-400:]})"
    assert done.stdout.splitlines() == [
        "unary: CORACLE", "server stream: c.o.r.a.c.l.e.", "client stream: boat", "both ways: HELLO!THERE!", "a deadline: DEADLINE_EXCEEDED",
        "cancelled by a timer of the loop: CANCELLED", "their handlers: stopped", "the loop's timer and pipe: went on"]


def test_asio_and_calls_share_a_thread(backend):
    done = run(own("asio"), env={"CORACLE_BACKEND": backend})
    assert done.returncode == 0, f"the exit code ({done.stdout[-400:]} {done.stderr[-400:]})"
    assert done.stdout == "100 greetings over TCP, each by a call\n"


def test_relay_says_that_the_next_server_is_away():
    with Server(own("relay_server"), "--port=0") as gone:
        address = gone.address
    with Server(own("relay_server"), "--port=0", "--next", address) as server:
        done = run(own("relay_client"), server.address)
        assert done.returncode > 0 and "UNAVAILABLE" in done.stdout + done.stderr, f"{done.returncode}: {done.stdout} {done.stderr}"


def test_clients_show_what_a_peer_sends_without_obeying_it():
    """ESC in UTF-8 and as a lone byte of C1, a line end, a mark that turns text around; letters stay."""
    with fleeting_server(b"5", b"none%1B[2J%0A%9B") as server:
        done = run(own("interop_client"), f"--server_port={server.address.split(':')[1]}", "--test_case=empty_unary")
        assert done.returncode == 1, "the exit code of interop_client"
        assert "none\\x1b[2J\\x0a\\x9b" in done.stderr and done.stderr.count("\n") == 1, f"interop_client says {done.stderr!r}"
    with Server(own("echo_server"), "--port=0") as server:
        done = run(own("echo_client"), server.address, data="\ta\x1b[2J\n")
        assert done.stdout == "\ta\\x1b[2J\n", "what the client prints"


@pytest.mark.parametrize("program", COROUTINES)
def test_coroutines_example_ends_well(program, backend):
    done = run(own(f"coroutines_{program}"), env={"CORACLE_BACKEND": backend})
    assert done.returncode == 0, f"the exit code ({done.stdout[-400:]} {done.stderr[-400:]})"
    assert "as expected: " in done.stdout, f"it says nothing of its outcome: {done.stdout}"


def test_an_interceptor_validates_and_another_one_caches(backend):
    env = {"CORACLE_BACKEND": backend}
    with Server(own("library_server"), "--port=0", env=env) as server:
        shown = client("library_client", server, "9780262033848", "Algorithms", backend=backend)
        assert shown.splitlines() == ["added 1", "found Algorithms", "found Algorithms"], "what the client found"
        for isbn, title, told in (("12345678901234", "Algorithms", "Book.isbn is longer than 13 bytes"),
                                  ("9780262033848", "", "Book.title is required")):
            done = run(own("library_client"), server.address, isbn, title, env=env)
            assert done.returncode == 1, f"the exit code ({done.stdout} {done.stderr})"
            assert "INVALID_ARGUMENT" in done.stderr and told in done.stderr, f"it does not say why: {done.stderr}"
        assert server.stop() == 0, "the server's exit code"
        asked = [line for line in server.all_said() if "looking for" in line]
        assert len(asked) == 1, "how often the handler ran: the second reply is from the cache"
