"""Servers under load: started pinned, asked for their CPU time."""

import contextlib
import os
import pathlib
import subprocess
import time

from harness import machine


CPUCLOCK_SCHED = 2  # the kernel's name for what a process has run

SETTLE_LOOK_S, SETTLE_AT_MOST_S, IDLE_SHARE = 0.1, 10, 0.01


class Kind:
    """A server to measure: a program below the build, its arguments, and what its environment says."""

    listen = "0"  # the first argument: any free port

    def __init__(self, name, program, *arguments, **environment):
        self.name, self.program, self.arguments, self.environment = name, program, arguments, environment


def cpu_seconds(pid):
    """User and system time of all threads of a process so far, of those that have ended too, as a thread a connection does; to the
    nanosecond, where /proc/PID/stat counts ticks: by what clock_getcpuclockid(3) gives."""
    return time.clock_gettime(~pid << 3 | CPUCLOCK_SCHED)


def status_kb(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return None


class Server:
    def __init__(self, process, address):
        self.process, self.address = process, address

    @property
    def port(self):
        return self.address.rsplit(":", 1)[1]

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def settle(self):
        """Waits until it has done with what the load before has left: calls that were under way at its end, connections."""
        until = time.monotonic() + SETTLE_AT_MOST_S
        before, now = -1.0, self.cpu_seconds()
        while now - before > IDLE_SHARE * SETTLE_LOOK_S and time.monotonic() < until:
            time.sleep(SETTLE_LOOK_S)
            before, now = now, self.cpu_seconds()

    def peak_rss_kb(self):
        return self.status_kb("VmHWM")

    def status_kb(self, name):
        return status_kb(self.process.pid, name)


@contextlib.contextmanager
def running(kind, build, more=(), environment=None, cores=1):
    """more: further arguments; environment: what is said beside the kind's own; cores: how many it may run on."""
    command = ["taskset", "-c", ",".join(str(core) for core in machine.cores()[:cores]), "env", *(f"{name}={value}" for name, value in (environment or {}).items()),
               build / kind.program, kind.listen, *kind.arguments, *more]
    process = subprocess.Popen(command, env={**os.environ, **kind.environment}, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            process.kill()
            raise machine.Failure(f"{kind.name} does not start: {process.stderr.read().strip() or 'it says nothing'}")
        yield Server(process, line.split()[-1])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
