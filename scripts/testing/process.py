"""Runs a command bounded in time, with its output in a file; what it left running, or behind, goes with it."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "test-logs"


def log_of(name):
    LOGS.mkdir(parents=True, exist_ok=True)
    stem = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return LOGS / f"{stem}.log"


class Run:
    """One command: code is None when it had to be ended at its time limit."""

    def __init__(self, command, log, timeout_s, env=None):
        self.log = log
        self.timeout_s = timeout_s
        self.began = time.monotonic()
        self.code = None
        # Its own, so that one that crashes or is killed leaves none of its temporary files.
        self.scratch = tempfile.mkdtemp(prefix="coracle-")
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [str(word) for word in command], cwd=ROOT, env={**os.environ, "TMPDIR": self.scratch, **(env or {})},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def wait(self):
        try:
            self.code = self.process.wait(max(0.0, self.began + self.timeout_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._ask_for_tasks()
        self._end_all()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.seconds = time.monotonic() - self.began
        return self

    def _ask_for_tasks(self):
        """What hangs says what its tasks wait for: test programs answer SIGUSR1 with a dump into their log."""
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(1)

    def _end_all(self):
        """Ends the command's process group: servers that a failed script left behind too."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except (ProcessLookupError, PermissionError):
                break
            deadline = time.monotonic() + 2
            while time.monotonic() < deadline and self._alive():
                time.sleep(0.02)
        self.process.wait()

    def _alive(self):
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    @property
    def ended(self):
        """Why a run that is no success ended, in words."""
        if self.code is None:
            return f"still running after {self.timeout_s:.0f} s"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"

    @property
    def text(self):
        return pathlib.Path(self.log).read_text(errors="replace")


def run(command, log, timeout_s, env=None):
    return Run(command, log, timeout_s, env).wait()
