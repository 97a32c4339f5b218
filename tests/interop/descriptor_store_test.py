"""A service manager keeps the listening sockets of a server while it restarts: no connection is refused, also after a crash."""

import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import tempfile
import time

import pytest

from handovers import ENDED, STEP_LIMIT_S, Caller, Generations, expect_none_lost
from programs import backends, own
from service_manager import ServiceManager

KEEPS = re.compile(r"the service manager keeps the listening sockets while the service restarts: (\d+)")
KEEPS_NONE = re.compile(r"the service manager keeps at most 1 sockets .* FileDescriptorStoreMax=(\d+) or more")


@pytest.fixture(params=backends())
def env(request):
    return {"CORACLE_BACKEND": request.param}


@pytest.fixture
def tmp_path():
    """Shorter than pytest's own: the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="store-") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "handover"


@pytest.fixture
def manager(tmp_path):
    with ServiceManager(tmp_path) as one:
        yield one


def service(manager, path, *addresses, env):
    """Starts the server as the service, which has what the manager has kept."""
    return Generations(path, *addresses, env={**env, **manager.env}, program=manager.starts(own("handover_pair")))


def end(server, number):
    server.signal(number)
    server.process.wait(STEP_LIMIT_S)


def keeps(server, processes):
    """Waits until so many processes have said that the manager keeps their sockets."""
    end = time.monotonic() + STEP_LIMIT_S
    while sum(bool(KEEPS.search(line)) for line in server.said) < processes:
        assert time.monotonic() < end, server.said
        time.sleep(0.005)


def connect_to(address):
    if address.startswith("unix:"):
        one = socket.socket(socket.AF_UNIX)
        one.connect(address.removeprefix("unix:"))
        return one
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), STEP_LIMIT_S)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("wanted", ["127.0.0.1:0", "unix:{}/listener"])
def test_connections_wait_for_the_next_process(env, manager, path, tmp_path, wanted, number):
    wanted = wanted.format(tmp_path)
    with service(manager, path, wanted, env=env) as first:
        assert first.wait_for(KEEPS, STEP_LIMIT_S)[1] == "1"
        end(first, number)
    address = wanted.replace(":0", f":{first.port}")
    with connect_to(address), Caller(address, env) as caller:  # while no process serves
        with service(manager, path, wanted, env=env) as second:
            assert second.port == first.port
            caller.makes_some()
            assert expect_none_lost(caller)["by"] == second.current
            manager.until(lambda now: len(now.stored) == 1)


@pytest.mark.parametrize("loops", [1, 3])
def test_a_restart_under_load_loses_nothing(env, manager, path, loops):
    env = {**env, "HANDOVER_LOOPS": str(loops)}
    with service(manager, path, "127.0.0.1:0", env=env) as server:
        server.wait_for(KEEPS, STEP_LIMIT_S)
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            for _ in range(3):
                caller.makes_some()
                assert server.stop_current() == 0
                server._end()
                server = service(manager, path, f"127.0.0.1:{server.port}", env=env).__enter__()
                server.wait_for(KEEPS, STEP_LIMIT_S)
                caller.until(lambda now: now["by"] == server.current)
            caller.makes_some()
            expect_none_lost(caller)
        server._end()


def test_an_address_that_is_no_longer_used_is_closed(env, manager, path, tmp_path):
    """Else its connections would wait until the service is stopped."""
    with service(manager, path, "127.0.0.1:0", f"unix:{tmp_path}/listener", env=env) as first:
        assert first.wait_for(KEEPS, STEP_LIMIT_S)[1] == "2"
        end(first, signal.SIGKILL)
    with connect_to(f"unix:{tmp_path}/listener") as waits:
        with service(manager, path, f"127.0.0.1:{first.port}", env=env):
            manager.until(lambda now: len(now.stored) == 1)
            assert [a[1] for a in manager.addresses()] == [first.port]
            waits.settimeout(STEP_LIMIT_S)
            with pytest.raises(ConnectionError):
                assert waits.recv(1) != b"", "the end of the connection"
                raise AssertionError("nothing was sent")
            with pytest.raises(ConnectionRefusedError):
                connect_to(f"unix:{tmp_path}/listener")


def test_without_room_a_server_ends_as_without_a_store(tmp_path, env, path):
    file = tmp_path / "listener"
    with ServiceManager(tmp_path, room=1) as manager, service(manager, path, f"unix:{file}", "127.0.0.1:0", env=env) as server:
        assert server.wait_for(KEEPS_NONE, STEP_LIMIT_S)[1] == "2"
        assert not manager.stored
        assert server.stop_current() == 0
        assert not file.exists()


def test_the_servers_of_a_process_share_the_room(tmp_path, env, path):
    file = tmp_path / "listener"
    second = f"{tmp_path}/second unix:{file}"
    with ServiceManager(tmp_path, room=1) as manager, service(manager, path, "127.0.0.1:0", env={**env, "HANDOVER_SECOND": second}) as server:
        assert server.wait_for(KEEPS_NONE, STEP_LIMIT_S)[1] == "2"
        manager.until(lambda now: len(now.stored) == 1)


def test_a_manager_without_a_store_hears_nothing_of_it(env, path, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(STEP_LIMIT_S)
        env = {**env, "NOTIFY_SOCKET": str(tmp_path / "notify"), "FDSTORE": ""}
        with Generations(path, "127.0.0.1:0", env=env) as server:
            assert manager.recv(4096) == b"READY=1"
            assert server.stop_current() == 0
            assert manager.recv(4096) == b"STOPPING=1"
            with pytest.raises(ConnectionRefusedError):
                connect_to(f"127.0.0.1:{server.port}")


def test_the_child_of_a_script_keeps_nothing(env, manager, path):
    """The next script would get the descriptors, and not the server; nor does a successor of it."""
    with service(manager, path, "127.0.0.1:0", env={**env, "SYSTEMD_EXEC_PID": "1"}) as server:
        server.upgrade()
        assert server.stop_current() == 0
        manager.until(lambda now: now.messages[-1] == "STOPPING=1")
        assert not manager.stored


def test_a_server_that_the_program_stops_leaves_nothing(env, manager, path, tmp_path):
    """Its process may go on, and no other one would serve what arrives."""
    file = tmp_path / "listener"
    with service(manager, path, "127.0.0.1:0", f"unix:{file}", env={**env, "HANDOVER_STOPS_SERVER": "1"}) as server:
        server.wait_for(KEEPS, STEP_LIMIT_S)
        server.signal(signal.SIGUSR1)
        server.wait_for(ENDED, STEP_LIMIT_S)
        manager.until(lambda now: not now.stored)
        assert not file.exists()
        with pytest.raises(ConnectionRefusedError):
            connect_to(f"127.0.0.1:{server.port}")


@pytest.mark.parametrize("before, after", [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "0.0.0.0"), ("0.0.0.0", "[::]")])
def test_another_host_at_the_same_port(env, manager, path, before, after):
    """What is kept has the port, and must not keep the new address from being bound. [::] alone serves IPv4, too."""
    with service(manager, path, f"{before}:0", env=env) as first:
        first.wait_for(KEEPS, STEP_LIMIT_S)
        assert first.stop_current() == 0
    with service(manager, path, f"{after}:{first.port}", env=env) as second, Caller(f"127.0.0.1:{first.port}", env) as caller:
        second.wait_for(KEEPS, STEP_LIMIT_S)
        caller.makes_some()
        expect_none_lost(caller)
        assert second.stop_current() == 0


def test_a_manager_that_hears_nothing_holds_nothing_up(env, path, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        addresses = [f"unix:{tmp_path}/{i}" for i in range(20)]  # more messages than the kernel may hold
        env = {**env, "NOTIFY_SOCKET": str(tmp_path / "notify"), "FDSTORE": "32"}
        with Generations(path, *addresses, env=env) as server:
            with Caller(addresses[0], env) as caller:
                caller.makes_some()
                expect_none_lost(caller)
            assert server.stop_current() == 0


def test_sockets_of_socket_units_are_others(env, manager, path, tmp_path):
    """listen("systemd:") does not take what the service has left itself."""
    with service(manager, path, f"unix:{tmp_path}/listener", env=env) as first:
        first.wait_for(KEEPS, STEP_LIMIT_S)
        end(first, signal.SIGKILL)
    words = [*manager.starts(own("handover_pair")), "serve", path, "systemd:"]
    done = subprocess.run(words, env={**os.environ, **env}, capture_output=True, text=True, timeout=STEP_LIMIT_S)
    assert done.returncode == 1
    assert "passed only sockets that an earlier process of the service has stored" in done.stdout
    with socket.create_server(("127.0.0.1", 0)) as unit:
        manager.put("grpc", unit.fileno())
        with service(manager, path, "systemd:", f"unix:{tmp_path}/listener", env=env) as second:
            assert second.port == unit.getsockname()[1]
            second.wait_for(re.compile("process .* listening"), STEP_LIMIT_S)
            assert second.stop_current() == 0
        manager.until(lambda now: len(now.stored) == 2)  # what is the manager's is not stored once more


def test_what_is_no_socket_any_more_is_made_anew(env, manager, path, tmp_path):
    """A file that was removed, and a descriptor of another kind."""
    file = tmp_path / "listener"
    with service(manager, path, f"unix:{file}", env=env) as first:
        first.wait_for(KEEPS, STEP_LIMIT_S)
        end(first, signal.SIGKILL)
    file.unlink()
    manager.until(lambda now: len(now.stored) == 1)
    old = next(iter(manager.stored))
    with open(os.devnull) as other:
        manager.put(old.replace("listener", "other"), other.fileno())
    with service(manager, path, f"unix:{file}", env=env) as second, Caller(f"unix:{file}", env) as caller:
        second.wait_for(KEEPS, STEP_LIMIT_S)
        assert stat.S_ISSOCK(os.stat(file).st_mode)
        caller.makes_some()
        expect_none_lost(caller)
        manager.until(lambda now: list(now.stored) == [old])


def test_a_name_that_is_too_long_is_a_warning(env, manager):
    """Each comma of the path has three bytes there. A longer folder would leave too little of the path's 102 bytes."""
    with (tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder,
          service(manager, pathlib.Path(folder) / ("," * 75), "127.0.0.1:0", env=env) as server):
        server.wait_for(re.compile("does not keep the socket of 127.0.0.1:.*: its name there has [0-9]+ bytes, limit 255"), STEP_LIMIT_S)
        assert server.stop_current() == 0
        with pytest.raises(ConnectionRefusedError):
            connect_to(f"127.0.0.1:{server.port}")
        assert not manager.stored


def test_upgrades_and_restarts(env, manager, path, tmp_path):
    """The successor has the sockets from the old process, and the next process from the manager."""
    with service(manager, path, "127.0.0.1:0", f"unix:{tmp_path}/listener", env=env) as server:
        server.wait_for(KEEPS, STEP_LIMIT_S)
        with Caller(f"127.0.0.1:{server.port}", env) as caller:
            for _ in range(2):
                caller.makes_some()
                server.upgrade()
                caller.until(lambda now: now["by"] == server.current)
            expect_none_lost(caller)
        keeps(server, 3)
        manager.until(lambda now: len(now.stored) == 2)
        assert server.stop_current() == 0
        assert (tmp_path / "listener").exists()
    manager.until(lambda now: now.messages[-1] == "STOPPING=1")
    assert manager.messages.count("READY=1") == 3
    with connect_to(f"127.0.0.1:{server.port}"), service(manager, path, f"127.0.0.1:{server.port}", env=env) as following:
        with Caller(f"127.0.0.1:{following.port}", env) as caller:
            caller.makes_some()
            expect_none_lost(caller)


def test_what_a_successor_gives_up_is_closed(env, manager, path, tmp_path):
    file = tmp_path / "listener"
    with service(manager, path, "127.0.0.1:0", f"unix:{file}", env=env) as old:
        old.wait_for(KEEPS, STEP_LIMIT_S)
        with Generations(path, f"127.0.0.1:{old.port}", env={**env, **manager.env}) as new:
            old.wait_for(ENDED, STEP_LIMIT_S)
            manager.until(lambda now: len(now.stored) == 1)
            assert [a[1] for a in manager.addresses()] == [old.port]
            assert not file.exists()
            assert new.stop_current() == 0


def test_another_path_finds_the_sockets_too(env, manager, path, tmp_path):
    with service(manager, path, "127.0.0.1:0", env=env) as first:
        first.wait_for(KEEPS, STEP_LIMIT_S)
        end(first, signal.SIGKILL)
    with service(manager, tmp_path / "renamed", f"127.0.0.1:{first.port}", env=env) as second:
        second.wait_for(KEEPS, STEP_LIMIT_S)
        manager.until(lambda now: ["renamed" in name for name in now.stored] == [True])
        end(second, signal.SIGKILL)
    with connect_to(f"127.0.0.1:{first.port}"):
        pass
