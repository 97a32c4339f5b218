"""Runs a command bounded in time, with its output in a file; what it left running, or behind, goes with it."""

import os
import pathlib
import select
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
    """One command, run to its end: code is None when it had to be ended at its time limit. Before its turn, which is a threading.Event,
    it has the lowest priority, and as much time as it needs: others leave it little of a busy machine."""

    _running = set()

    def __init__(self, command, log, timeout_s, env=None, turn=None):
        self.log, self.timeout_s, self.code, self.cpu_seconds = log, timeout_s, None, 0.0
        waits = turn is not None and not turn.is_set()
        began = time.monotonic()
        # Its own, so that one that crashes or is killed leaves none of its temporary files.
        scratch = tempfile.mkdtemp(prefix="coracle-")
        with open(log, "wb") as output:
            self._process = subprocess.Popen(
                [*(["nice", "-n", "19"] if waits else []), *map(str, command)], cwd=ROOT, env={**os.environ, "TMPDIR": scratch, **(env or {})},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self._running.add(self)
        if waits:
            self._set_priority_of_session(19)
        try:
            self.code = self._wait(timeout_s, turn if waits else None)
        finally:
            self._end_all()
            self._running.discard(self)
            shutil.rmtree(scratch, ignore_errors=True)
        self.seconds = time.monotonic() - began

    def _wait(self, timeout_s, turn):
        """The exit code, or None at the time limit. Notes the processor time of the command and of all processes that it waited for."""
        try:
            descriptor = os.pidfd_open(self._process.pid)
            try:
                ended = self._ends_before(turn, descriptor) or select.select([descriptor], [], [], timeout_s)[0]
            finally:
                os.close(descriptor)
            if not ended:
                return None
            _, status, used = os.wait4(self._process.pid, 0)
        except (ChildProcessError, ProcessLookupError):  # end_running() has ended it
            return self._process.wait()
        self.cpu_seconds = used.ru_utime + used.ru_stime
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode

    @classmethod
    def running(cls):
        """The commands that run now, in all threads."""
        return list(cls._running)

    @classmethod
    def end_running(cls):
        for one in cls.running():
            one._end_all()

    def _ends_before(self, turn, descriptor):
        """Whether the command ends before its turn. Then it has the ordinary priority, which not every user may give."""
        while turn and not turn.is_set():
            if select.select([descriptor], [], [], 0.2)[0]:
                return True
        if turn:
            self._set_priority_of_session(0)
            try:
                os.setpriority(os.PRIO_PGRP, self._process.pid, os.nice(0))
            except OSError:
                pass
        return False

    def _set_priority_of_session(self, nice):
        """A kernel that shares out its time among sessions first does not compare the priorities of their processes."""
        try:
            pathlib.Path(f"/proc/{self._process.pid}/autogroup").write_text(str(nice))
        except OSError:
            pass  # a kernel without such groups, a command that has ended, or a user who may not

    def _end_all(self):
        """Ends the command's process group: servers that a failed test left behind too."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                break
            deadline = time.monotonic() + 2
            while time.monotonic() < deadline and self._alive():
                time.sleep(0.02)
        self._process.wait()

    def _alive(self):
        self._process.poll()
        try:
            os.killpg(self._process.pid, 0)
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

    @property
    def last_line(self):
        lines = [line for line in self.text.splitlines() if line.strip()]
        return lines[-1][:200] if lines else "it printed nothing"
