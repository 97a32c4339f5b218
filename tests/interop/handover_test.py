"""A server that a new process replaces, while clients call it that never retry: no call is lost, and no connection refused. And
successors that fail, after which the old process goes on serving."""

import concurrent.futures
import os
import pathlib
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from certificates import Certificates
from handovers import DRAINS, ENDED, LISTENING, STEP_LIMIT_S, TAKEN_OVER, Caller, Generations, connect, expect_none_lost, take
from programs import ROOT, START_LIMIT_S, Background, backends, own
from service_manager import ServiceManager

GOES_ON = re.compile(r"this process goes on serving")
HAS_ENDED = re.compile(r"has ended within goaway_time: this process goes on serving")


@pytest.fixture(params=backends())
def env(request):
    return {"CORACLE_BACKEND": request.param}


@pytest.fixture
def tmp_path():
    """Shorter than pytest's own: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="handover-") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "handover"


@pytest.mark.parametrize("loops", [1, 3])
def test_no_call_is_lost(env, path, loops):
    env = {**env, "HANDOVER_LOOPS": str(loops)}
    with Generations(path, "127.0.0.1:0", env=env) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        port = server.port
        for _ in range(3):
            caller.makes_some()
            server.upgrade()
            caller.until(lambda now: now["by"] == server.current)
        caller.makes_some()
        tally = expect_none_lost(caller)
        assert tally["by"] == server.current, "the process that answered last"
        assert server.port == port
        assert server.stop_current() == 0
        assert not path.exists(), "the last process removes its socket"
        assert sum("replaced" in line for line in server.said) == 3, "replaced() runs once in each old process"
        assert sum("leaving" in line for line in server.said) == 1, "leaving() runs in the last process alone"


def test_tls_and_several_addresses(env, path, tmp_path):
    Certificates(tmp_path)
    env = {**env, "HANDOVER_CERTS": str(tmp_path)}
    file = tmp_path / "listener"
    with Generations(path, "localhost:0", f"unix:{file}", env=env) as server:
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            caller.makes_some()
            server.upgrade()
            caller.until(lambda now: now["by"] == server.current)
            expect_none_lost(caller)
        assert stat.S_ISSOCK(os.stat(file).st_mode), "the file of the UNIX socket is the successor's"
        assert server.stop_current() == 0
        assert not file.exists()


def test_a_unix_socket_under_load(env, path, tmp_path):
    address = f"unix:{tmp_path}/listener"
    with Generations(path, address, env=env) as server, Caller(address, env) as caller:
        for _ in range(2):
            caller.makes_some()
            server.upgrade()
        caller.until(lambda now: now["by"] == server.current)
        expect_none_lost(caller)


def test_a_process_that_is_started_by_hand_takes_over(env, path):
    with Generations(path, "127.0.0.1:0", env=env) as old, Caller(f"127.0.0.1:{old.port}", env) as caller:
        caller.makes_some()
        with Generations(path, f"127.0.0.1:{old.port}", env=env) as new:
            old.wait_for(ENDED, STEP_LIMIT_S)
            caller.until(lambda now: now["by"] == new.current)
            expect_none_lost(caller)
            assert new.stop_current() == 0


def replaced_by_nobody(server, caller):
    server.wait_for(GOES_ON, STEP_LIMIT_S)
    caller.makes_some()
    assert caller.now()["by"] == server.first, "the process that answers"


@pytest.mark.parametrize("mood", ["exit", "hang"])
def test_a_successor_that_fails_changes_nothing(env, path, tmp_path, mood):
    file = tmp_path / "mood"
    env = {**env, "HANDOVER_MOOD": str(file), "HANDOVER_START_MS": "700"}
    with Generations(path, "127.0.0.1:0", env=env) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        file.write_text(mood)
        for _ in range(2):
            caller.makes_some()
            server.signal(signal.SIGUSR2)
            replaced_by_nobody(server, caller)
        expect_none_lost(caller)


def test_the_old_process_goes_on_when_the_new_one_dies(env, path):
    """What the new process had accepted dies with it, and nothing else."""
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as server:
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            for _ in range(2):
                caller.makes_some()
                server.begin_upgrade()
                server.signal(signal.SIGKILL)
                server.wait_for(HAS_ENDED, STEP_LIMIT_S)
                server.current = server.first
                caller.until(lambda now: now["by"] == server.first)
            caller.makes_some()
            before = caller.now()["lost"]
            server.upgrade_with_goaway_time_cut_short()
            caller.until(lambda now: now["by"] == server.current)
            tally, errors = caller.end()
            assert tally["lost"] == before, errors
            assert "refused" not in errors


STARTED = re.compile(r"started the successor, process (\d+)")


def test_a_child_is_killed_when_another_process_serves_in_its_place(env, path, tmp_path):
    """It is not taken for the one that serves, though both were started as successors."""
    file = tmp_path / "mood"
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_MOOD": str(file), "HANDOVER_GOAWAY_MS": "600000"}) as old:
        with Caller(f"127.0.0.1:{old.port}", env) as caller:
            caller.makes_some()
            file.write_text("hang")
            old.signal(signal.SIGUSR2)
            child = int(old.wait_for(STARTED, STEP_LIMIT_S)[1])
            with Generations(path, f"127.0.0.1:{old.port}", env=env) as new:
                old.wait_for(re.compile(f"process {child}, is killed: process {new.current} serves in its place"), STEP_LIMIT_S)
                old.signal(signal.SIGTERM)  # ends goaway_time
                old.wait_for(ENDED, STEP_LIMIT_S)
                assert not os.path.exists(f"/proc/{child}"), "killed, and awaited"
                caller.until(lambda now: now["by"] == new.current)
                expect_none_lost(caller)


def test_a_successor_below_a_script_is_the_child(env, path, tmp_path):
    script = tmp_path / "a) S 1"  # /proc has the name of a process between parentheses
    script.write_text(f'#!/bin/sh\n{own("handover_pair")} "$@"\nexit $?\n')
    script.chmod(0o755)
    program = tmp_path / "first"
    program.symlink_to(own("handover_pair"))
    with Generations(path, "127.0.0.1:0", env=env, program=[program]) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        program.unlink()
        program.symlink_to(script)
        caller.makes_some()
        server.upgrade()
        assert not any("is killed" in line for line in server.said)
        caller.until(lambda now: now["by"] == server.current)
        expect_none_lost(caller)


def test_a_server_that_listens_late_is_replaced(env, path):
    """Its first listen() comes on another thread, while loops and signal handlers run."""
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_LATE": "1"}) as server:
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            caller.makes_some()
            server.upgrade()
            caller.until(lambda now: now["by"] == server.current)
            expect_none_lost(caller)
        assert server.stop_current() == 0


def test_a_server_that_listens_late_ends_at_sigterm(env, path):
    """And its process lives on: what was deferred is not raised again."""
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_LATE": "1"}) as server:
        assert server.stop_current() == 0
        assert server.end_of_first() == 0


def test_of_two_servers_in_a_process_each_is_replaced(env, path, tmp_path):
    """The process ends when both are."""
    second = tmp_path / "second"
    file = tmp_path / "listener"
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_SECOND": f"{second} unix:{file}"}) as old:
        with Caller(f"127.0.0.1:{old.port}", env) as first_caller, Caller(f"unix:{file}", env) as second_caller:
            first_caller.makes_some()
            second_caller.makes_some()
            with Generations(path, f"127.0.0.1:{old.port}", env=env) as new:
                new.wait_for(TAKEN_OVER, STEP_LIMIT_S)
                first_caller.until(lambda now: now["by"] == new.current)
                second_caller.makes_some()
                assert second_caller.now()["by"] == old.current
                assert old.process.poll() is None
                with Generations(second, f"unix:{file}", env=env) as newer:
                    found = old.wait_for(ENDED, STEP_LIMIT_S)
                    assert (int(found[1]), int(found[2])) == (old.current, 0)
                    second_caller.until(lambda now: now["by"] == newer.current)
                    expect_none_lost(first_caller)
                    expect_none_lost(second_caller)


def test_a_process_that_leaves_is_replaced_at_once(env, path):
    """Within leave_time, which then has no purpose any more."""
    env = {**env, "HANDOVER_LEAVE_MS": "600000"}
    with Generations(path, "127.0.0.1:0", env=env) as old, Caller(f"127.0.0.1:{old.port}", env) as caller:
        caller.makes_some()
        old.signal(signal.SIGTERM)
        old.wait_for(re.compile("leaving"), STEP_LIMIT_S)
        caller.makes_some()
        with Generations(path, f"127.0.0.1:{old.port}", env=env) as new:
            found = old.wait_for(ENDED, STEP_LIMIT_S)
            assert int(found[2]) == 0
            caller.until(lambda now: now["by"] == new.current)
            expect_none_lost(caller)
        assert not any(line.startswith("replaced") for line in old.said), "it has left its registries before"


def test_a_replaced_process_does_not_leave(env, path):
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_LEAVE_MS": "600000"}) as server:
        server.upgrade()
        assert not any(line.startswith("leaving") for line in server.said)


def test_a_refusal_that_cannot_be_sent_is_repeated(env, path, tmp_path):
    """Else the successor took the end of the connection for the end of the process, and both had the file and the path."""
    file = tmp_path / "listener"
    with Generations(path, f"unix:{file}", env={**env, "HANDOVER_UNSENT": "3", "HANDOVER_START_MS": "100"}) as server:
        with connect(path) as peer:
            sockets, _ = take(peer)
            with sockets[0]:
                assert peer.recv(1000) == b"refused the successor took too long"
        assert server.stop_current() == 0
        assert not file.exists() and not path.exists(), "they were its own alone"


def test_what_a_process_could_not_refuse_is_left_to_the_successor(env, path, tmp_path):
    file = tmp_path / "listener"
    with Generations(path, f"unix:{file}", env={**env, "HANDOVER_UNSENT": "1000000", "HANDOVER_START_MS": "100"}) as server:
        with connect(path) as peer:
            sockets, _ = take(peer)
            with sockets[0]:
                server.wait_for(re.compile("does not take over: it took too long"), STEP_LIMIT_S)
                assert server.stop_current() == 0
                assert peer.recv(1000) == b""
        assert stat.S_ISSOCK(os.stat(file).st_mode) and path.exists()


def test_a_successor_that_does_not_hear_of_its_possession_keeps_the_registration(env, path, tmp_path):
    file = tmp_path / "listener"
    with Generations(path, f"unix:{file}", env={**env, "HANDOVER_UNSENT": "1000000", "HANDOVER_GOAWAY_MS": "0"}) as server:
        with connect(path) as peer:
            sockets, _ = take(peer)
            with sockets[0]:
                peer.send(b"ready 0")
                assert peer.recv(1000) == b"go"
                server.wait_for(re.compile("has ended within goaway_time"), STEP_LIMIT_S)
                assert server.stop_current() == 0
        assert any(line.startswith("replaced") for line in server.said)
        assert not any(line.startswith("leaving") for line in server.said)


def test_a_successor_that_serves_when_a_stop_comes_is_heard(env, path, tmp_path):
    file = tmp_path / "listener"
    with Generations(path, f"unix:{file}", env=env) as server:
        with connect(path) as peer:
            sockets, _ = take(peer)
            with sockets[0]:
                server.signal(signal.SIGSTOP)
                peer.send(b"ready 0")
                server.signal(signal.SIGTERM)
                server.signal(signal.SIGCONT)
                server.wait_for(ENDED, STEP_LIMIT_S)
        assert any(line.startswith("replaced") for line in server.said)
        assert stat.S_ISSOCK(os.stat(file).st_mode)


# Of epoll_wait() and epoll_pwait() on the machines that we know.
EPOLL_CALLS = {"232", "281", "22"}


def wait_until_blocked(waiter):
    """Until the thread waits in epoll_wait()."""
    end = time.monotonic() + STEP_LIMIT_S
    while pathlib.Path(f"/proc/self/task/{waiter.native_id}/syscall").read_text().split()[0] not in EPOLL_CALLS:
        assert time.monotonic() < end, "the thread does not wait"
        time.sleep(0.001)


# A server with epoll is woken for each connection.
@pytest.mark.parametrize("env", [one for one in backends() if one == "io_uring"], indirect=True)
def test_a_connection_for_which_a_refused_process_was_woken_is_served(env, path):
    """The kernel wakes one of the processes that wait at a listening socket."""
    with Generations(path, "127.0.0.1:0", env=env) as server, connect(path) as peer, select.epoll() as waiter:
        (listener,), _ = take(peer)
        waiter.register(listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
        woken = []
        waiting = threading.Thread(target=lambda: woken.extend(waiter.poll(STEP_LIMIT_S)))
        waiting.start()
        wait_until_blocked(waiting)
        peer.send(b"ready 5 4")
        assert peer.recv(1000).startswith(b"refused ")
        with connect(path) as later:
            for one in take(later)[0]:  # the server has looked for connections after the refusal
                one.close()
            with socket.create_connection(("127.0.0.1", server.port), timeout=STEP_LIMIT_S) as client:
                waiting.join(STEP_LIMIT_S)
                assert woken
                waiter.close()
                listener.close()
                peer.close()
                client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
                assert client.recv(9)[3] == 4, "SETTINGS"


def test_a_replaced_file_is_what_runs(env, path, tmp_path):
    program = tmp_path / "program"
    program.symlink_to(own("handover_pair"))
    with Generations(path, "127.0.0.1:0", env=env, program=[program]) as server:
        program.unlink()
        program.write_text(f'#!/bin/sh\necho the new program\nexec {own("handover_pair")} "$@"\n')
        program.chmod(0o755)
        server.upgrade()
        assert "the new program" in server.said


def test_of_two_successors_one_takes_over(env, path):
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as old:
        with Caller(f"127.0.0.1:{old.port}", env) as caller:
            caller.makes_some()
            words = [own("handover_pair"), "serve", path, f"127.0.0.1:{old.port}"]
            with Generations(path, f"127.0.0.1:{old.port}", env=env) as new:
                late = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=STEP_LIMIT_S)
                assert late.returncode == 1
                assert f"another process takes over at the handover path {path}: process {new.current} " in late.stderr
                old.signal(signal.SIGTERM)  # ends goaway_time
                old.wait_for(ENDED, STEP_LIMIT_S)
                caller.until(lambda now: now["by"] == new.current)
                expect_none_lost(caller)


def test_signals_of_a_replaced_process(env, path):
    """A SIGTERM ends goaway_time, and cancels nothing: streams last until their ends."""
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as server:
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            caller.makes_some()
            server.upgrade_with_goaway_time_cut_short()
            caller.until(lambda now: now["by"] == server.current)
            expect_none_lost(caller)


def test_the_first_sigterm_of_a_replaced_process_cancels_nothing(env, path):
    """Who has sent it meant the server, which another process serves by now."""
    with Generations(path, "127.0.0.1:0", env=env) as server:
        with Caller(f"127.0.0.1:{server.port}", {**env, "HANDOVER_STEP_MS": "100"}) as caller:
            caller.makes_some()
            old = server.begin_upgrade()
            server.wait_for(DRAINS, STEP_LIMIT_S)
            os.kill(old, signal.SIGTERM)
            server.wait_for(ENDED, STEP_LIMIT_S)
            caller.until(lambda now: now["by"] == server.current)
            expect_none_lost(caller)


def test_the_second_sigterm_of_a_replaced_process_cancels_its_calls(env, path):
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as server:
        with Caller(f"127.0.0.1:{server.port}", {**env, "HANDOVER_STEP_MS": "60000"}) as caller:
            caller.until(lambda now: now["calls"] and now["connections"])
            old = server.begin_upgrade()
            os.kill(old, signal.SIGTERM)
            server.wait_for(DRAINS, STEP_LIMIT_S)  # the first one has arrived
            os.kill(old, signal.SIGTERM)
            server.wait_for(ENDED, STEP_LIMIT_S)


def test_a_successor_with_other_addresses_replaces_nothing(env, path, tmp_path):
    """Such as a second service whose configuration was copied. It tells its service manager nothing, either."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    with manager, Generations(path, "127.0.0.1:0", env=env) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        caller.makes_some()
        words = [own("handover_pair"), "serve", path, f"unix:{tmp_path}/other"]
        other = subprocess.run(words, env={**os.environ, **env, "NOTIFY_SOCKET": str(tmp_path / "notify")}, capture_output=True, text=True,
                               timeout=STEP_LIMIT_S)
        assert other.returncode == 1
        assert "listens on none of the addresses of the process that serves" in other.stderr
        assert f"127.0.0.1:{server.port}" in other.stderr
        replaced_by_nobody(server, caller)
        with pytest.raises(BlockingIOError):
            manager.recv(100, socket.MSG_DONTWAIT)
        server.upgrade()
        caller.until(lambda now: now["by"] == server.current)
        expect_none_lost(caller)


def test_process_1_is_not_replaced(env, path):
    alone = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("unshare cannot make a namespace of processes here")
    with Generations(path, "127.0.0.1:0", env=env, program=[*alone, own("handover_pair")]) as server:
        words = [own("handover_pair"), "serve", path, f"127.0.0.1:{server.port}"]
        new = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=STEP_LIMIT_S)
        assert new.returncode == 1
        assert "is process 1, with which its container ends" in new.stderr
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            caller.makes_some()
            assert expect_none_lost(caller)["by"] == 1, "the process that answers"


def test_a_new_process_serves_if_the_old_one_ends_before_it_reads(env, path):
    """The end of such a connection is an error, and not an end."""
    old = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    old.bind(str(path))
    path.chmod(0o600)
    old.listen()
    with Background(own("handover_pair"), "serve", path, "127.0.0.1:0", env=env) as new:
        with old, old.accept()[0] as question:
            assert select.select([question], [], [], STEP_LIMIT_S)[0], "it asks for the sockets"
            path.unlink()
        new.wait_for(LISTENING, START_LIMIT_S)
        assert new.stop() == 0


def test_a_hostile_peer_gets_nothing_and_holds_up_nobody(env, path):
    """Silence, nonsense, too much, and an end at each step."""
    with Generations(path, "127.0.0.1:0", env=env) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        for first in (b"x", b"take", b"take 99999999999999999999", b"take 1 2", b"ready", b"\0" * 1024, b"t" * 1025, b"done"):
            with connect(path) as peer:
                peer.send(first)
                assert peer.recv(100) == b"", f"the answer to {first[:20]}"
        with connect(path) as peer:
            peer.send(b"take 2")
            assert peer.recv(1000).startswith(b"refused ")
        for answer in (b"ready 5 4", b"ready 1", b"ready", b"ready 64", b"ready x", b"go", b"take 1", b""):
            with connect(path) as peer:
                sockets, got = take(peer)
                for one in sockets:
                    one.close()
                assert [m.split()[0] for m in got] == [b"socket", b"control", b"end"]
                if answer:
                    peer.send(answer)
                    assert peer.recv(1000).startswith(b"refused ")
        connect(path).close()
        with connect(path):  # says nothing, and is left after a while
            server.upgrade()
        caller.until(lambda now: now["by"] == server.current)
        expect_none_lost(caller)


def test_only_the_user_may_connect(env):
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # which others may enter, but not each folder for temporary files
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder) / "handover"
        with Generations(path, "127.0.0.1:0", env=env) as server:
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
            path.chmod(0o666)
            script = (f"import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect({str(path)!r})\n"
                      "try: s.send(b'take 1'); print(s.recv(99))\n"
                      "except ConnectionError as error: print(b'')")
            stranger = subprocess.run([sys.executable, "-c", script], user=65534, group=65534, extra_groups=[], capture_output=True, text=True,
                                      timeout=STEP_LIMIT_S)
            assert stranger.stdout == "b''\n", stranger.stderr
            server.wait_for(re.compile("a process of another user"), STEP_LIMIT_S)


@pytest.mark.parametrize("make, text", [
    (lambda at: at / "no/such/folder/handover", "create the folder"),
    (lambda at: at / ("x" * 120), "limit 102"),
    (lambda at: "relative", "absolute path"),
    (lambda at: (at / "file").write_text("") and None or at / "file", "not a socket"),
])
def test_a_path_that_cannot_be_is_an_error(env, tmp_path, make, text):
    done = subprocess.run([own("handover_pair"), "serve", make(tmp_path), "127.0.0.1:0"], env={**os.environ, **env}, capture_output=True,
                          text=True, timeout=START_LIMIT_S)
    assert done.returncode == 1
    assert text in done.stderr


def test_a_killed_server_leaves_a_path_that_the_next_takes(env, path):
    with Generations(path, "127.0.0.1:0", env=env) as server:
        server.signal(signal.SIGKILL)
        server.process.wait()
        assert path.exists()
        with Generations(path, "127.0.0.1:0", env=env) as following:
            following.upgrade()
            assert following.stop_current() == 0


@pytest.mark.parametrize("pause_s", [0, 0.002, 0.005, 0.01, 0.05])
def test_a_process_that_starts_while_the_old_one_ends_serves(env, path, pause_s):
    """Wherever the old process is in its end: it passes its sockets on, or has closed them."""
    with Generations(path, "127.0.0.1:0", env=env) as old:
        old.signal(signal.SIGTERM)
        time.sleep(pause_s)
        with Generations(path, f"127.0.0.1:{old.port}", env=env) as new, Caller(f"127.0.0.1:{new.port}", env) as caller:
            old.wait_for(ENDED, STEP_LIMIT_S)
            caller.makes_some()
            expect_none_lost(caller)
            assert path.exists(), "the new process has the path"
            assert new.stop_current() == 0


def test_a_killed_predecessor_leaves_its_sockets(env, path):
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as server:
        os.kill(server.begin_upgrade(), signal.SIGKILL)
        server.wait_for(re.compile("has taken over at"), STEP_LIMIT_S)
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            caller.makes_some()
            expect_none_lost(caller)
        assert server.stop_current() == 0


def test_a_killed_predecessor_leaves_its_sockets_also_where_the_path_is_gone(env, path, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with Generations(folder / "handover", "127.0.0.1:0", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as server:
        old = server.begin_upgrade()
        folder.rename(tmp_path / "gone")
        os.kill(old, signal.SIGKILL)
        server.wait_for(re.compile("serves, and no process can take over from it: .*create the folder"), STEP_LIMIT_S)
        server.wait_for(re.compile("has taken over at"), STEP_LIMIT_S)
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            caller.makes_some()
            server.signal(signal.SIGUSR2)
            server.wait_for(re.compile("no successor is started: .*restart the server"), STEP_LIMIT_S)
            caller.makes_some()
            expect_none_lost(caller)
        assert server.stop_current() == 0


def test_a_predecessor_whose_runtime_stops_leaves_everything_to_a_successor_that_serves(env, path, tmp_path):
    """It must not close what both have: the port, the file of the UNIX socket, the path."""
    file = tmp_path / "listener"
    with Generations(path, "127.0.0.1:0", f"unix:{file}", env={**env, "HANDOVER_GOAWAY_MS": "600000"}) as server:
        old = server.begin_upgrade()
        os.kill(old, signal.SIGUSR1)
        server.wait_for(re.compile("has taken over at"), STEP_LIMIT_S)
        server.process.wait(STEP_LIMIT_S)
        for address in (f"127.0.0.1:{server.port}", f"unix:{file}"):
            with Caller(address, env) as caller:
                caller.makes_some()
                assert expect_none_lost(caller)["by"] == server.current
        assert path.exists()
        server.upgrade_with_goaway_time_cut_short()
        assert server.stop_current() == 0
        assert not file.exists()


def test_a_process_whose_runtime_stops_ends_the_child_that_does_not_serve(env, path, tmp_path):
    file = tmp_path / "mood"
    with Generations(path, "127.0.0.1:0", env={**env, "HANDOVER_MOOD": str(file)}) as server:
        file.write_text("hang")
        server.signal(signal.SIGUSR2)
        child = int(server.wait_for(re.compile(r"started the successor, process (\d+)"), STEP_LIMIT_S)[1])
        server.signal(signal.SIGUSR1)
        server.process.wait(STEP_LIMIT_S)
        assert not os.path.exists(f"/proc/{child}"), "killed, and awaited"
        assert not path.exists()


@pytest.mark.parametrize("says, text", [
    ([b"go", b"refused it changed its mind"], "it changed its mind"),
    ([b"go", b"nonsense"], "sends malformed messages"),
    ([b"take 1"], "sends malformed messages"),
    ([b"refused it took too long"], "it took too long"),
])
def test_a_predecessor_that_does_not_pass_on_ends_its_successor(env, path, says, text):
    """Also when it closes the connection at once, without having read what the successor said."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with listener, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as control:
        control.bind(str(path))
        control.listen()
        words = [own("handover_pair"), "serve", path, f"127.0.0.1:{port}"]
        new = subprocess.Popen(words, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        peer, _ = control.accept()
        with peer:
            assert peer.recv(100) == b"take 1"
            socket.send_fds(peer, [f"socket own 127.0.0.1:{port}".encode()], [listener.fileno()])
            socket.send_fds(peer, [b"control"], [control.fileno()])
            peer.send(b"end 1")
            wait_until_readable(peer)  # "ready 0"
            for one in says:
                peer.send(one)
        _, errors = new.communicate(timeout=STEP_LIMIT_S)
        assert new.returncode == 1
        assert text in errors


def wait_until_readable(peer):
    assert select.select([peer], [], [], STEP_LIMIT_S)[0]


def test_a_successor_has_no_other_descriptors(env, path):
    program = [sys.executable, "-c", "import os, sys; os.dup2(1, 200, True); os.execv(sys.argv[1], sys.argv[1:])", own("handover_pair")]
    with Generations(path, "127.0.0.1:0", env=env, program=program) as server:
        assert os.path.lexists(f"/proc/{server.current}/fd/200")
        server.upgrade()
        assert not os.path.lexists(f"/proc/{server.current}/fd/200")


def test_the_script_that_counts_lost_calls_runs():
    done = subprocess.run([sys.executable, ROOT / "scripts/upgrades.py", "3"], capture_output=True, text=True, timeout=4 * STEP_LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert sum(int(line.split()[1]) for line in done.stdout.splitlines()[1:]) == 3, done.stdout


def test_the_service_manager_hears_of_it(env, path, tmp_path):
    with ServiceManager(tmp_path) as manager, Generations(path, "127.0.0.1:0", env={**env, **manager.env}) as server:
        manager.until(lambda now: now.messages == ["READY=1"])
        server.upgrade()
        manager.until(lambda now: len(now.messages) == 3)
        assert set(manager.messages[1:]) == {"READY=1", f"MAINPID={server.current}"}
        assert server.stop_current() == 0
        manager.until(lambda now: now.messages[3:] == ["STOPPING=1"])


# As a service manager starts a program whose socket it has opened.
ACTIVATION = """import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_FDNAMES="grpc", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_sockets_of_the_service_manager_are_passed_on(env, path):
    program = [sys.executable, "-c", ACTIVATION, own("handover_pair")]
    with Generations(path, "systemd:grpc", env=env, program=program) as server, Caller(f"127.0.0.1:{server.port}", env) as caller:
        for _ in range(2):  # the second successor has it from one that has it from another process
            caller.makes_some()
            server.upgrade()
        caller.until(lambda now: now["by"] == server.current)
        expect_none_lost(caller)
        assert server.stop_current() == 0


def test_grpcio_stays_without_errors(env, path):
    """grpcio's client sees GOAWAY again and again, in the middle of calls and streams."""
    grpc = pytest.importorskip("grpc", reason="./dev peers installs it")
    with Generations(path, "127.0.0.1:0", env=env) as server:
        answered_by, over = [], threading.Event()

        def make_calls(channel):
            say = channel.unary_unary("/echo.Echo/Say")
            while not over.is_set():
                answered_by.append(int(say(b"", timeout=STEP_LIMIT_S)[2:]))  # the field `text`

        def make_streams(channel):
            chat = channel.stream_stream("/echo.Echo/Chat")
            while not over.is_set():
                text = b"\x0a\x05hello"
                assert list(chat(iter([text] * 100), timeout=STEP_LIMIT_S)) == [text] * 100

        with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel, concurrent.futures.ThreadPoolExecutor() as pool:
            callers = [pool.submit(make, channel) for make in (make_calls, make_calls, make_streams, make_streams)]
            try:
                for _ in range(5):
                    server.upgrade()
                    end = time.monotonic() + STEP_LIMIT_S
                    while server.current not in answered_by[-2:]:
                        assert time.monotonic() < end, "the successor answers no call"
                        time.sleep(0.005)
            finally:
                over.set()
            for caller in callers:
                caller.result(STEP_LIMIT_S)  # raises what a call raised
