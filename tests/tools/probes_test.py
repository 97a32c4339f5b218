"""USDT probes of a program, and the bpftrace scripts of packaging/bpftrace on real calls, where the kernel permits tracing."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from programs import Background, LISTENING, ROOT, START_LIMIT_S, own, run

SCRIPTS = ROOT / "packaging/bpftrace"
LIMIT_S = 60
PROBES = {"connection__opened", "connection__closed", "connection__goaway", "stream__reset", "call__began", "call__ended", "call__queued",
          "attempt__began", "client__call__ended", "loop__long__iteration", "loop__stalled", "heap__block"}
GUIDE = (ROOT / "docs/guides/recorder.md").read_text()


def test_a_program_has_the_probes_that_the_guide_lists():
    assert shutil.which("readelf"), "readelf is not installed (scripts/packages.txt)"
    notes = run("readelf", "-n", own("coracle")).stdout  # it has both sides
    found = set(re.findall(r"Provider: coracle\s+Name: (\S+)", notes))
    assert found == PROBES, found ^ PROBES
    assert set(re.findall(r"^\| `(\w+__\w+)` \|", GUIDE, re.M)) == PROBES


def test_the_guide_lists_the_scripts():
    assert set(re.findall(r"^\| `(\S+\.bt)", GUIDE, re.M)) == {file.name for file in SCRIPTS.glob("*.bt")}


def why_no_tracing():
    """The kernel's reason, or None."""
    assert shutil.which("bpftrace"), "bpftrace is not installed (scripts/packages.txt)"
    done = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], capture_output=True, text=True, timeout=LIMIT_S)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason"])[-1]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A copy of a server's program: probes belong to a file, and other tests run the original."""
    if reason := why_no_tracing():
        pytest.skip(f"the kernel does not permit tracing here, so only the notes of the probes are tested: {reason}")
    return shutil.copy(own("movie_server"), tmp_path_factory.mktemp("traced"))


def traced(program, script, *arguments):
    """What the script prints about a server that answers two calls, one of which fails."""
    with subprocess.Popen(["bpftrace", str(SCRIPTS / script), str(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as tracer:
        try:
            wait_until_attached(tracer)
            with Background(program, "--port=0") as server:
                port = server.wait_for(LISTENING, START_LIMIT_S)[1]
                idle = descriptors_of(server.process.pid, "socket:")
                for request in ('{"title": "Alien"}', "{}"):
                    run(own("coracle"), "call", f"127.0.0.1:{port}", "-p", "AddMovie", "-d", request)
                end = time.monotonic() + LIMIT_S
                while descriptors_of(server.process.pid, "socket:") > idle and time.monotonic() < end:  # it closes a connection after the client
                    time.sleep(0.01)
                assert descriptors_of(server.process.pid, "socket:") <= idle, "the server keeps connections of clients that have ended"
            tracer.send_signal(signal.SIGINT)
            said = tracer.communicate(timeout=LIMIT_S)[0]
        finally:
            tracer.kill()
    return said


def descriptors_of(pid, kind):
    """How many descriptors of this kind a process has."""
    count = 0
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it may be closed meanwhile
            count += kind in os.readlink(entry.path)
    return count


def wait_until_attached(tracer):
    """Each probe is an event of perf, which the tracer holds as a descriptor: it has attached them when no more are added."""
    seen, same = 0, 0
    end = time.monotonic() + LIMIT_S
    while same < 20 and time.monotonic() < end and tracer.poll() is None:
        time.sleep(0.05)
        events = descriptors_of(tracer.pid, "perf_event")
        same = same + 1 if events == seen and events > os.cpu_count() else 0
        seen = events
    assert tracer.poll() is None, tracer.stdout.read()


def test_slow_calls_are_printed_with_their_methods(program):
    said = traced(program, "coracle-slow-calls.bt", "0")
    assert len(re.findall(r"^ +\d+ +\d+ +\d+ +\d+  /movie.MovieService/AddMovie$", said, re.M)) == 2, said


def test_calls_are_counted_by_method_and_status(program):
    said = traced(program, "coracle-calls.bt")
    counts = {int(status): int(n) for status, n in re.findall(r"@calls\[/movie.MovieService/AddMovie, (\d+)\]: (\d+)", said)}
    assert sum(counts.values()) == 2, said


def test_connections_are_printed_with_the_reason_of_their_end(program):
    said = traced(program, "coracle-connections.bt")
    assert len(re.findall(r"^opened +\d+ +server, port of the peer \d+$", said, re.M)) == 2, said
    assert len(re.findall(r"^closed +\d+ +\S.* \(\d+ streams, \d+ ms\)$", said, re.M)) == 2, said


def test_blocks_from_the_heap_are_counted(program):
    assert "@heap_blocks_bytes" in traced(program, "coracle-loops.bt")
