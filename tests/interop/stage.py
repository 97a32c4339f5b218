"""What the scripts of this folder stand on: where the programs are, servers with a bounded life, a line per case."""

import ctypes
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CORACLE_BIN") or ROOT / "build/release/bin")
PEERS = pathlib.Path(os.environ.get("CORACLE_PEERS") or ROOT / "build/peers/bin")
PYTHON = pathlib.Path(os.environ.get("CORACLE_PYTHON") or ROOT / "build/peers/venv/bin/python")
MOVIE_PROTO = ROOT / "examples/02_movie/movie.proto"

SCRIPT_LIMIT_S = 280  # below the test runner's own, so that a script that hangs still says in which case
START_LIMIT_S = 15
STOP_LIMIT_S = 15
LISTENING = re.compile(r"listening on \S*?:(\d+)")


class Missing(Exception):
    """A program of other people's that is not here: the case is left out."""


class Wrong(Exception):
    """What a case found wrong."""


def expect(truth, reason):
    if not truth:
        raise Wrong(reason)


def equal(found, wanted, what):
    expect(found == wanted, f"{what} is {found!r}, not {wanted!r}")


def backends():
    """The I/O backends that work here: where the kernel refuses io_uring, epoll alone."""
    parameters = ctypes.create_string_buffer(120)
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(425, 4, parameters)  # io_uring_setup
    if descriptor < 0:
        print(f"the kernel refuses io_uring ({os.strerror(ctypes.get_errno())}): epoll alone")
        return ["epoll"]
    os.close(descriptor)
    return ["io_uring", "epoll"]


def own(name):
    path = BIN / name
    expect(path.exists(), f"{path} has not been built")
    return path


def peer(name):
    path = PEERS / name
    if not path.exists():
        raise Missing(f"{name} is not installed; ./dev peers would")
    return path


def with_packages(*modules):
    """Goes on in the peers' Python where this one lacks the modules."""
    if os.environ.get("CORACLE_PYTHON_ENTERED"):
        return
    probe = "import " + ", ".join(modules)
    if PYTHON.exists() and subprocess.run([PYTHON, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
        os.environ["CORACLE_PYTHON_ENTERED"] = "1"
        os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv])
    print(f"SKIP {pathlib.Path(sys.argv[0]).stem}: Python has no {' or no '.join(modules)}; ./dev peers installs them")
    sys.exit(0)


class Background:
    """A program that runs until the with-block ends, and what it says."""

    def __init__(self, *command, env=None):
        self.name = pathlib.Path(command[0]).name
        self.process = subprocess.Popen(
            [str(word) for word in command], env={**os.environ, **(env or {})}, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = []
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

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
                raise Wrong(f"{self.name} did not say /{pattern.pattern}/ within {limit_s} s") from None
            if line is None:
                raise Wrong(f"{self.name} ended before it said /{pattern.pattern}/: {' | '.join(self.said[-3:])}")
            found = pattern.search(line)
            if found:
                return found

    def expect_alive(self):
        expect(self.process.poll() is None, f"{self.name} has ended with {self.process.poll()}: {' | '.join(self.said[-3:])}")

    def stop(self):
        """Asks the server to end; its exit code."""
        self.expect_alive()
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{self.name} still runs {STOP_LIMIT_S} s after SIGTERM") from None

    def all_said(self):
        """Its lines, once it has ended."""
        self._reader.join(STOP_LIMIT_S)
        return self.said

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
        raise Wrong(f"{pathlib.Path(command[0]).name} still runs after {limit_s} s") from None


class Cases:
    """Runs cases and prints a line for each; the script's exit code says whether all were right."""

    def __init__(self):
        self.failed = 0
        signal.signal(signal.SIGALRM, self._too_long)
        signal.alarm(SCRIPT_LIMIT_S)

    @staticmethod
    def _too_long(*_):
        raise Wrong(f"the script took longer than {SCRIPT_LIMIT_S} s")

    def run(self, name, case, *arguments):
        try:
            case(*arguments)
        except Missing as reason:
            print(f"SKIP {name}: {reason}", flush=True)
            return
        except Exception as reason:  # noqa: BLE001 whatever a client library throws is this case's failure
            self.failed += 1
            text = str(reason) if isinstance(reason, Wrong) else f"{type(reason).__name__}: {reason}"
            print(f"FAIL {name}: {' / '.join(text.split(chr(10)))[:600]}", flush=True)
            return
        print(f"PASS {name}", flush=True)

    def each(self, group, cases, *arguments):
        """Runs functions whose names are the cases' names: adds_a_movie is AddsAMovie."""
        for case in cases:
            self.run(f"{group}.{''.join(word.capitalize() for word in case.__name__.split('_'))}", case, *arguments)

    def end(self):
        sys.exit(1 if self.failed else 0)
