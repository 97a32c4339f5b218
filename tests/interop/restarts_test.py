"""A server that is started again 50 times, by turns drained and killed, under clients that retry: no idempotent call is
lost. On a real clock, where the channel's pauses make each restart take some seconds."""

import concurrent.futures
import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import time

import pytest

from programs import START_LIMIT_S, Server, backends, own

RESTARTS = 10
PAIRS = 5  # at the same time, so that 50 restarts take as long as 10
PROGRESS_LIMIT_S = 20
# A connection that is up for longer than the next pause shows the channel that the server is well (decision 0009): the
# next pause is 1.6 times the last, and both are up to 20 % longer or shorter.
SETTLED = 2.5
TALLY = re.compile(r"made (\d+) lost (\d+)")


class Client:
    """Calls, four at a time, until the with-block ends."""

    def __init__(self, port, env):
        self.process = subprocess.Popen([own("restart_pair"), "call", str(port)], env={**os.environ, **env}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tally(self, line):
        found = TALLY.match(line)
        assert found, f"the client has ended with {self.process.poll()}: {line!r}"
        return int(found[1]), int(found[2])

    def made(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.tally(self.process.stdout.readline())[0]

    def makes_some(self):
        """Waits until calls have been answered anew; how long that took."""
        wanted, start = self.made() + 12, time.monotonic()
        while self.made() < wanted:
            if time.monotonic() > start + PROGRESS_LIMIT_S:
                raise AssertionError(f"no call has been answered for {PROGRESS_LIMIT_S} s")
            time.sleep(0.005)
        return time.monotonic() - start

    def end(self):
        return self.tally(self.process.communicate(timeout=PROGRESS_LIMIT_S)[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


taken_ports = set()


def free_port():
    """Below those that the kernel gives to whoever connects: while the server is away, its port is nobody else's."""
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as trial, contextlib.suppress(OSError):
            trial.bind(("127.0.0.1", port))
            if port not in taken_ports:
                taken_ports.add(port)
                return port


def start(port, env):
    """A killed process's io_uring holds its sockets for a moment beyond its end."""
    end = time.monotonic() + START_LIMIT_S
    while True:
        try:
            return Server(own("restart_pair"), "serve", str(port), env=env)
        except AssertionError as reason:
            if "is already in use" not in str(reason) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def end_server(server, gently):
    if gently:
        assert server.stop() == 0, "the exit code of a drained server"
    else:
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()


def play(backend):
    """(made, lost) calls."""
    env = {"CORACLE_BACKEND": backend}
    with contextlib.ExitStack() as running:
        port = free_port()
        server = running.enter_context(start(port, env))
        client = running.enter_context(Client(port, env))
        for i in range(RESTARTS):
            time.sleep(SETTLED * client.makes_some())
            end_server(server, i % 2 == 0)
            server = running.enter_context(start(port, env))
        client.makes_some()
        return client.end()


@pytest.fixture(scope="module")
def runs():
    """All at the same time, of every backend."""
    with concurrent.futures.ThreadPoolExecutor(PAIRS * len(backends())) as pool:
        yield {backend: [pool.submit(play, backend) for _ in range(PAIRS)] for backend in backends()}


@pytest.mark.timeout(280)
@pytest.mark.parametrize("backend", backends())
def test_no_idempotent_call_is_lost(runs, backend):
    tallies = [run.result() for run in runs[backend]]
    made = sum(of for of, _ in tallies)
    lost = sum(lost for _, lost in tallies)
    assert lost == 0, f"the number of lost calls of {made}"
    assert made > 12 * RESTARTS * PAIRS, f"only {made} calls were made"
