"""A server that new processes replace (tests/interop/handover_pair.cpp), and a client that calls it meanwhile."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import time

from programs import START_LIMIT_S, Background, own

TALLY = re.compile(r"calls (\d+) streams (\d+) connections (\d+) lost (\d+) by (\d+)")
LISTENING = re.compile(r"process (\d+) listening on \S*?:(\d+)")
TAKEN_OVER = re.compile(r"this process has taken over at")
SENDS_GOAWAY = re.compile(r"sends GOAWAY")
DRAINS = re.compile(r"has taken over: this process drains and ends")
ENDED = re.compile(r"process (\d+) has ended with (\d+)")
STEP_LIMIT_S = 30


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.settimeout(STEP_LIMIT_S)
    peer.connect(str(path))
    return peer


def take(peer):
    """Asks for the sockets; they, and what was said."""
    peer.send(b"take 1")
    got, sockets = [], []
    while not got or not got[-1].startswith(b"end"):
        message, descriptors, _, _ = socket.recv_fds(peer, 1000, 4)
        got.append(message)
        for one in descriptors:
            if message.startswith(b"socket"):
                sockets.append(socket.socket(fileno=one))
            else:
                os.close(one)
    return sockets, got


class Generations(Background):
    """A server, and all of its successors, which say what they do on the same stream. They form a group of processes."""

    def __init__(self, path, *addresses, env=None, program=None):
        program = program or [own("handover_pair")]
        super().__init__("setsid", *program, "serve", path, *addresses, env={"CORACLE_LOG": "info", **(env or {})})
        found = self.wait_for(LISTENING, START_LIMIT_S)
        self.first, self.port = int(found[1]), int(found[2])
        self.current = self.first

    def signal(self, number):
        os.kill(self.current, number)

    def upgrade(self):
        """Replaces the server; returns when the old process has ended."""
        old = self.current
        self.signal(signal.SIGUSR2)
        while self.current == old:  # which has a line for each of its addresses
            self.current = int(self.wait_for(LISTENING, STEP_LIMIT_S)[1])
        found = self.wait_for(ENDED, STEP_LIMIT_S)
        assert (int(found[1]), int(found[2])) == (old, 0), "the process that ended, and its exit code"

    def begin_upgrade(self):
        """Returns the old process, which sends GOAWAYs, when the new one serves."""
        old = self.current
        self.signal(signal.SIGUSR2)
        while self.current == old:
            self.current = int(self.wait_for(LISTENING, STEP_LIMIT_S)[1])
        self.wait_for(SENDS_GOAWAY, STEP_LIMIT_S)
        return old

    def upgrade_with_goaway_time_cut_short(self):
        old = self.begin_upgrade()
        os.kill(old, signal.SIGTERM)
        found = self.wait_for(ENDED, STEP_LIMIT_S)
        assert (int(found[1]), int(found[2])) == (old, 0), "the process that ended, and its exit code"

    def stop_current(self):
        """Ends the server of now as an operator does; its exit code."""
        last = self.current
        self.signal(signal.SIGTERM)
        while True:
            found = self.wait_for(ENDED, STEP_LIMIT_S)
            if int(found[1]) == last:
                return int(found[2])

    def end_of_first(self):
        """The exit code of the process that was started first, which has been told to end."""
        return self.process.wait(STEP_LIMIT_S)

    def _end(self):
        # Successors are in the group of the first process, which may have ended.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        super()._end()


class Caller:
    """Makes calls, streams and connections without retries until the with-block ends."""

    def __init__(self, address, env=None):
        self.process = subprocess.Popen([own("handover_pair"), "call", address], env={**os.environ, **(env or {})}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def tally(self, line):
        found = TALLY.match(line)
        assert found, f"the client has ended with {self.process.poll()}: {line!r}"
        return dict(zip(("calls", "streams", "connections", "lost", "by"), map(int, found.groups())))

    def now(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.tally(self.process.stdout.readline())

    def until(self, reached):
        """Waits until the tally is so."""
        end = time.monotonic() + STEP_LIMIT_S
        while not reached(now := self.now()):
            assert time.monotonic() < end, f"the client made no progress: {now}"
            time.sleep(0.005)
        return now

    def makes_some(self):
        before = self.now()
        return self.until(lambda now: all(now[kind] > before[kind] for kind in ("calls", "streams", "connections")))

    def end(self):
        """What was made, and what was lost and why."""
        said, errors = self.process.communicate(timeout=STEP_LIMIT_S)
        return self.tally(said), errors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def expect_none_lost(caller):
    tally, errors = caller.end()
    assert tally["lost"] == 0, f"lost {tally}: {errors[:2000]}"
    return tally
