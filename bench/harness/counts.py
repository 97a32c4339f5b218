"""System calls and allocations of a server per call: counted in a run of their own, since counting costs time."""

import re
import shutil
import struct
import subprocess

from harness import machine, servers, unary

SECONDS = 0.5
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


def count(one, build, folder, more, column, payload, scheme, with_perf):
    """Per call, connecting included; None where it cannot be told."""
    file, out = folder / "mallocs", folder / "perf"
    file.unlink(missing_ok=True)
    preloaded = {"LD_PRELOAD": build / "lib/libbench_malloc_counter.so", "BENCH_MALLOC_COUNT": file}
    with servers.running(one, build, more, preloaded if "malloc" in one.can else None) as server:
        # A run before, so that what is made once is not in it.
        unary.load(server.address, column, SECONDS, payload.enveloped, scheme=scheme, path=payload.path)
        before = read_count(file)
        prefix = perf_command(server.process.pid, out) if with_perf else []
        counted = unary.load(server.address, column, SECONDS, payload.enveloped, scheme=scheme, path=payload.path, around=prefix)
        calls = counted["answered"]
        found = re.search(r"^(\d+),", out.read_text(), re.MULTILINE) if with_perf else None
        return {"syscalls_per_call": int(found[1]) / calls if found else None,
                "allocations_per_call": (read_count(file) - before) / calls if "malloc" in one.can else None}
