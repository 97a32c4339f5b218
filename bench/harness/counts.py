"""System calls and allocations of a server per call: counted in a run of their own, since counting costs time."""

import re
import shutil
import struct
import subprocess
import time

from harness import machine, unary

SECONDS, SETTLE_S = 0.5, 0.3
CALLS_AT_LEAST = 10  # on each connection, so that connecting is little even where it varies
MEND = "mend: apt-get install linux-perf and run as root, or leave them out by --without perf"


def perf_command(pid, out):
    return ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", str(pid), "-o", str(out)]


def require_perf():
    """One line that says what is wrong with it, before an hour is spent."""
    if not shutil.which("perf"):
        raise machine.Failure(f"there is no perf, which counts system calls; {MEND}")
    done = subprocess.run(["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "true"], capture_output=True, text=True)
    if done.returncode != 0 or not re.search(r"^\d+,", done.stderr, re.MULTILINE):
        raise machine.Failure(f"perf may not count system calls here: {done.stderr.strip()[:200]}; {MEND}")


def read_count(file):
    """Of malloc_counter.cpp."""
    return struct.unpack("Q", file.read_bytes()[:8])[0] if file.exists() and file.stat().st_size >= 8 else 0


class Counter:
    """Of one server, from its start on."""

    def __init__(self, server, folder, mallocs, with_perf):
        self.server, self.out, self.with_perf = server, folder / "perf", with_perf
        self.file = mallocs

    def around(self, load):
        """What load(prefix) answered, and the system calls and allocations meanwhile."""
        before = read_count(self.file)
        answered = load(perf_command(self.server.process.pid, self.out) if self.with_perf else [])
        found = re.search(r"^(\d+),", self.out.read_text(), re.MULTILINE) if self.with_perf else None
        return answered, int(found[1]) if found else None, read_count(self.file) - before


def count(bench, one, more, column, payload, scheme):
    """Per call; None where it cannot be told. What it takes to connect is taken off, by a load of one call a connection."""
    connections = int(column.split("x")[0])
    file = bench.folder / "mallocs"
    file.unlink(missing_ok=True)
    preloaded = {"LD_PRELOAD": bench.build / "lib/libbench_malloc_counter.so", "BENCH_MALLOC_COUNT": file}
    with bench.running(one, more, preloaded if "malloc" in one.can else None) as server:
        counter = Counter(server, bench.folder, file, bench.with_perf)

        def load(shape, prefix=(), **how):
            time.sleep(SETTLE_S)  # so that the end of the load before is not in it
            return unary.load(server.address, shape, SECONDS, payload.enveloped, scheme=scheme, path=payload.path,
                              around=prefix, **how)["answered"]

        load(column)  # so that what is made once is not in it
        first = counter.around(lambda prefix: load(f"{connections}x1", prefix, requests=connections))
        whole = counter.around(lambda prefix: load(column, prefix))
        calls = whole[0] - first[0]
        if calls < CALLS_AT_LEAST * connections:
            raise machine.Failure(f"{calls} calls are too few to count by")
        return {"syscalls_per_call": (whole[1] - first[1]) / calls if bench.with_perf else None,
                "allocations_per_call": (whole[2] - first[2]) / calls if "malloc" in one.can else None}
