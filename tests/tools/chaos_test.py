"""coracle chaos between clients and servers: each fault reaches them, and a seed repeats it."""

import re
import socket
import time

import pytest

from coracle_command import coracle
from frame_server import ACK, PING, PREFACE, SETTINGS, frame
from programs import MOVIE_PROTO, Server, own, run

UNAVAILABLE, INTERNAL, DEADLINE_EXCEEDED, USAGE = 14, 13, 4, 64
GREETING = PREFACE + frame(SETTINGS, 0, 0)


@pytest.fixture(scope="module")
def server():
    with Server(own("movie_server"), "--port=0") as one:
        yield one


def chaos(server, *faults, seed=1):
    words = [word for fault in faults for word in ("--fault", fault)]
    return Server(own("coracle"), "chaos", server.address, "--seed", str(seed), *words)


def call(proxy, *words, method="ListMovies"):
    return run(own("coracle"), "call", proxy.address, "-p", method, *words)


def counted(proxy):
    """What it says at its end, once it has been asked to end: how often each fault occurred."""
    assert proxy.stop() == 0, "the exit code"
    last = proxy.all_said()[-1]
    assert re.match(r"\d+ connections?", last), last
    return {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", last)}


def test_without_a_fault_in_time_calls_pass(server):
    with chaos(server, "close 1ms from 1h") as proxy:
        added = call(proxy, "-d", '{"title": "Ran"}', method="AddMovie")
        assert added.returncode == 0, added.stderr
        assert '"Ran"' in call(proxy).stdout
        assert counted(proxy) == {}


def test_a_delay_is_that_of_both_directions(server):
    """Of a PING and its answer, which make one way each."""
    with chaos(server, "delay 150ms") as proxy, socket.create_connection(("127.0.0.1", proxy.port), timeout=15) as one:
        one.sendall(GREETING)
        answer = frame(PING, ACK, 0, b"12345678")
        began = time.monotonic()
        one.sendall(frame(PING, 0, 0, b"12345678"))
        received = b""
        while answer not in received:
            more = one.recv(1000)
            assert more, "the connection has ended"
            received += more
        assert time.monotonic() - began >= 0.3


def test_few_bytes_a_second_take_their_time(server):
    with chaos(server, "slow 2KB") as proxy:
        began = time.monotonic()
        assert call(proxy, "--proto", MOVIE_PROTO, "-d", '{"title": "' + "x" * 3000 + '"}', method="AddMovie").returncode == 0
        assert time.monotonic() - began >= 1.5


def test_a_refused_connection_is_reset(server):
    with chaos(server, "refuse 100%") as proxy:
        assert call(proxy).returncode == UNAVAILABLE
        assert counted(proxy)["refuse"] >= 1


def test_a_handshake_is_cut_off(server):
    with chaos(server, "handshake 100%") as proxy:
        secure = run(own("coracle"), "call", proxy.address, "ListMovies")
        assert secure.returncode == UNAVAILABLE and "TLS" in secure.stderr, secure.stderr
        assert counted(proxy)["handshake"] >= 1


def test_a_connection_is_closed_at_some_time(server):
    with chaos(server, "close 100ms") as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=15) as one:
            one.sendall(GREETING)
            with pytest.raises(ConnectionResetError):
                while one.recv(1000):
                    pass
        assert counted(proxy) == {"close": 1}


def test_a_stall_is_told_to_nobody(server):
    with chaos(server, "stall 0s") as proxy:
        proxy_said = call(proxy, "--timeout", "1s")
        assert proxy_said.returncode == DEADLINE_EXCEEDED, proxy_said.stderr
        assert counted(proxy)["stall"] >= 1


def test_changed_bytes_break_calls(server):
    with chaos(server, "corrupt 20B") as proxy:
        assert call(proxy, "--timeout", "5s").returncode != 0
        assert counted(proxy)["corrupt"] >= 1


def test_streams_are_reset_and_their_connection_goes_on(server):
    def connections(fault):
        """What the program says, and how many connections it makes."""
        with chaos(server, fault) as proxy:
            load = run(own("coracle"), "load", proxy.address, "-p", "ListMovies", "--proto", MOVIE_PROTO, "-n", "200", "--connections", "1")
            counts = counted(proxy)
            return load.stdout, counts, int(proxy.all_said()[-1].split()[0])

    said, counts, many = connections("reset 100% to 1h")
    assert "INTERNAL" in said, said
    assert list(counts) == ["reset"] and counts["reset"] >= 200
    assert many == connections("delay 0s")[2], "a stream that was reset has cost its connection"


def test_bytes_of_streams_that_were_reset_give_their_window_back(server):
    """More of them than the window of a connection has."""
    with chaos(server, "reset 40%") as proxy:
        words = ("-p", "AddMovie", "--proto", MOVIE_PROTO, "-d", '{"title": "' + "x" * 60_000 + '"}', "-n", "200", "--connections", "1", "--concurrency", "4")
        load = run(own("coracle"), "load", proxy.address, *words, limit_s=60)
        assert "INTERNAL" in load.stdout and "OK" in load.stdout, load.stdout
        assert "DEADLINE" not in load.stdout and "UNAVAILABLE" not in load.stdout, load.stdout
        assert counted(proxy)["reset"] > 30


def test_a_protocol_whose_server_speaks_first_passes():
    """Whatever its greeting looks like; this one looks like the first bytes of a frame of HTTP/2."""
    greeting = b"\0\0\0\1\4"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(15)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with Server(own("coracle"), "chaos", address, "--fault", "reset 100%") as proxy:
            with socket.create_connection(("127.0.0.1", proxy.port), timeout=15) as client, listening.accept()[0] as server_end:
                server_end.settimeout(15)
                server_end.sendall(greeting)
                assert client.recv(100) == greeting
                client.sendall(b"HELLO\r\n")
                assert server_end.recv(100) == b"HELLO\r\n"
                server_end.sendall(greeting + b" BYE")
                server_end.shutdown(socket.SHUT_WR)
                received = b""
                while more := client.recv(100):
                    received += more
                assert received == greeting + b" BYE"
            assert counted(proxy) == {}


def test_the_same_seed_resets_the_same_streams(server):
    def resets(seed):
        with chaos(server, "reset 30%", seed=seed) as proxy:
            run(own("coracle"), "load", proxy.address, "-p", "ListMovies", "--proto", MOVIE_PROTO, "-n", "60", "--connections", "1", "--concurrency", "1")
            counted(proxy)
            return [line.split("#")[1] for line in proxy.all_said() if " reset stream " in line]

    first = resets(5)
    assert 5 < len(first) < 40
    assert resets(5) == first
    assert resets(6) != first


def test_a_goaway_moves_calls_to_another_connection(server):
    with chaos(server, "goaway 50ms") as proxy:
        load = run(own("coracle"), "load", proxy.address, "-p", "ListMovies", "--duration", "1s", "--connections", "1", "--expect", "errors<=0%")
        assert load.returncode == 0, load.stdout + load.stderr
        assert counted(proxy)["goaway"] >= 2


def test_a_script_and_mistakes(server, tmp_path):
    script = tmp_path / "day.chaos"
    script.write_text("# the morning\nrefuse 100%\n")
    with Server(own("coracle"), "chaos", server.address, "--script", script) as proxy:
        assert call(proxy).returncode == UNAVAILABLE
        assert counted(proxy)["refuse"] >= 1
    script.write_text("refuse\n")
    assert "day.chaos, line 1: 'refuse' is not of the form 'refuse 10%" in coracle("chaos", server.address, "--script", script, code=USAGE).stderr
    assert "there is no fault" in coracle("chaos", server.address, code=USAGE).stderr
    for wrong in ("localhost", "localhost:", ":50051", "localhost:50051x", "localhost:0"):
        assert f"'{wrong}' is not of the form host:port" in coracle("chaos", wrong, "--fault", "delay 1ms", code=USAGE).stderr


def test_a_server_that_is_away_is_named():
    with Server(own("coracle"), "chaos", "127.0.0.1:1", "--fault", "delay 1ms") as proxy:
        assert call(proxy).returncode == UNAVAILABLE
        assert any("no server: " in line for line in proxy.said) or proxy.wait_for(re.compile("no server: "), 5)
