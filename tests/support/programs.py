"""The programs that tests in Python drive: where they are, and servers with a bounded life."""

import ctypes
import functools
import os
import pathlib
import queue
import re
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CORACLE_BUILD_DIR") or ROOT / "build/release")
BIN = pathlib.Path(os.environ.get("CORACLE_BIN") or BUILD / "bin")
PEERS = pathlib.Path(os.environ.get("CORACLE_PEERS") or ROOT / "build/peers/bin")
MOVIE_PROTO = ROOT / "examples/02_movie/movie.proto"

START_LIMIT_S = 15
STOP_LIMIT_S = 15
LISTENING = re.compile(r"listening on \S*?:(\d+)")


@functools.cache
def backends():
    """The I/O backends that work here: where the kernel refuses io_uring, epoll alone."""
    parameters = ctypes.create_string_buffer(120)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(425, 4, parameters)  # io_uring_setup
    if descriptor < 0:
        return ["epoll"]
    os.close(descriptor)
    return ["io_uring", "epoll"]


def own(name):
    """The path of a program of ours."""
    path = BIN / name
    assert path.exists(), f"{path} has not been built"
    return path


def peer(name):
    """The path of another project's program; the test is skipped where it is not installed."""
    path = PEERS / name
    if not path.exists():
        import pytest  # scripts that use this file do without
        pytest.skip(f"{name} is not installed; ./dev peers installs it")
    return path


class Background:
    """A program that runs until the with-block ends, and what it says."""

    def __init__(self, *command, env=None, stdin=subprocess.DEVNULL):
        self.name = pathlib.Path(command[0]).name
        self.process = subprocess.Popen(
            [str(word) for word in command], env={**os.environ, **(env or {})}, text=True, errors="replace",
            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = []
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def all_said(self):
        """Its lines, once it has ended."""
        self._reader.join(STOP_LIMIT_S)
        return self.said

    def _read(self):
        for line in self.process.stdout:
            self.said.append(line.rstrip())
            self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, pattern, limit_s):
        """The match of the first line from now on that has the pattern."""
        end = time.monotonic() + limit_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{self.name} did not say /{pattern.pattern}/ within {limit_s} s, but: {' | '.join(self.said[-5:])}") from None
            assert line is not None, f"{self.name} ended before it said /{pattern.pattern}/: {' | '.join(self.said[-3:])}"
            found = pattern.search(line)
            if found:
                return found

    def expect_alive(self):
        code = self.process.poll()
        assert code is None, f"{self.name} has ended with {code}: {' | '.join(self.said[-3:])}"

    def stop(self):
        """Asks the program to end; its exit code."""
        self.expect_alive()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs {STOP_LIMIT_S} s after SIGTERM") from None

    def _end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()


class Server(Background):
    """A program that says on a line at which port it listens."""

    def __init__(self, *command, env=None):
        super().__init__(*command, env=env)
        try:
            self.port = int(self.wait_for(LISTENING, START_LIMIT_S)[1])
        except BaseException:
            self._end()
            raise

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"


def run(*command, limit_s=30, data=None, env=None):
    """The completed process, output and errors in one text each."""
    try:
        return subprocess.run([str(word) for word in command], input=data, capture_output=True, timeout=limit_s,
                              env={**os.environ, **(env or {})}, text=not isinstance(data, bytes))
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{pathlib.Path(command[0]).name} still runs after {limit_s} s") from None
