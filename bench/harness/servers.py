"""Servers under load: started pinned, checked, asked for their CPU time."""

import contextlib
import os
import pathlib
import subprocess

from harness import machine

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Kind:
    """A server to measure: a program of the build, and what its environment says."""

    def __init__(self, name, program, checked=True, **environment):
        self.name, self.program, self.checked, self.environment = name, program, checked, environment


KINDS = (
    Kind("coracle io_uring", "bench_greeter", CORACLE_BACKEND="io_uring"),
    Kind("coracle epoll", "bench_greeter", CORACLE_BACKEND="epoll"),
    Kind("grpc++ completion queue", "bench_grpcpp_greeter"),
    Kind("floor (no gRPC)", "bench_floor", checked=False),
)


class Server:
    def __init__(self, process, address):
        self.process, self.address = process, address

    def cpu_seconds(self):
        """User and system time of all its threads so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND

    def peak_rss_kb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
        return None


@contextlib.contextmanager
def running(kind, programs):
    core = machine.cores()[0]
    environment = {**os.environ, **kind.environment}
    process = subprocess.Popen(["taskset", "-c", str(core), programs / kind.program, "0"], env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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


def check(server, kind, programs):
    """Whether replies are right, byte for byte, with grpc-status 0."""
    if not kind.checked:
        return
    done = subprocess.run([programs / "bench_check", server.address], capture_output=True, text=True)
    if done.returncode != 0:
        raise machine.Failure(f"{kind.name} answers wrong: {done.stderr.strip()}")
