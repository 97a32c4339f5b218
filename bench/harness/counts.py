"""System calls and allocations of a server per call: counted in a run of their own, since counting costs time."""

import contextlib
import re
import shutil
import signal
import struct
import subprocess
import time

from harness import machine, unary

SECONDS = 0.5
CALLS_AT_LEAST = 200  # on each connection, so that connecting is little even where it varies
ATTACH_S = 0.1
EVENT = "raw_syscalls:sys_enter"
FIX = "fix: apt-get install linux-perf and run as root, or leave them out by --without perf"


def require_perf():
    """One line that says what is wrong with it, before an hour is spent."""
    if not shutil.which("perf"):
        raise machine.Failure(f"there is no perf, which counts system calls; {FIX}")
    done = subprocess.run(["perf", "stat", "-x,", "-e", EVENT, "true"], capture_output=True, text=True)
    if done.returncode != 0 or not re.search(r"^\d+,", done.stderr, re.MULTILINE):
        raise machine.Failure(f"perf may not count system calls here: {done.stderr.strip()[:200]}; {FIX}")


def read_count(file):
    """Of malloc_counter.cpp."""
    return struct.unpack("Q", file.read_bytes()[:8])[0] if file.exists() and file.stat().st_size >= 8 else 0


@contextlib.contextmanager
def system_calls(pid, out):
    """Of a process meanwhile, all of its threads; in the list that is given."""
    counted = []
    with subprocess.Popen(["perf", "stat", "-x,", "-e", EVENT, "-p", str(pid), "-o", out], stderr=subprocess.DEVNULL) as perf:
        time.sleep(ATTACH_S)
        try:
            yield counted
        finally:
            perf.send_signal(signal.SIGINT)
            perf.wait()
    found = re.search(r"^(\d+),", out.read_text(), re.MULTILINE)
    counted += [int(found[1])] if found else []


def count(bench, one, more, column, payload, scheme):
    """Per call; None where it cannot be told. All calls of a load are answered, and what it takes to connect is taken off, by a
    load of one call a connection."""
    connections = int(column.split("x")[0])
    mallocs, out = bench.folder / "mallocs", bench.folder / "perf"
    mallocs.unlink(missing_ok=True)
    preloaded = {"LD_PRELOAD": bench.build / "lib/libbench_malloc_counter.so", "BENCH_MALLOC_COUNT": mallocs}
    with bench.running(one, more, preloaded if "malloc" in one.can else None) as server:

        def load(shape, requests=None):
            answered = unary.load(server.address, shape, SECONDS, payload.enveloped, scheme=scheme, path=payload.path,
                                  requests=requests)["answered"]
            server.settle()
            return answered

        def counted(shape, requests):
            before = read_count(mallocs)
            with system_calls(server.process.pid, out) if bench.with_perf else contextlib.nullcontext([]) as calls:
                load(shape, requests)
            return (calls or [None])[0], read_count(mallocs) - before

        requests = max(load(column), CALLS_AT_LEAST * connections)  # which also makes what is made once
        first = counted(f"{connections}x1", connections)
        whole = counted(column, requests)
        calls = requests - connections
        return {"syscalls_per_call": (whole[0] - first[0]) / calls if None not in (whole[0], first[0]) else None,
                "allocations_per_call": (whole[1] - first[1]) / calls if "malloc" in one.can else None}
