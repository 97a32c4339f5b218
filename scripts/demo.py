#!/usr/bin/env python3
"""The main job, to watch: starts the movie server on a free port, drives every kind of call through it, then a short load."""

import pathlib
import re
import select
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build/demo/bin"
START_TIMEOUT_S = 10
CLIENT_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
LOAD = ["AddMovie", "-d", '{"title": "Part {{call}}"}', "-c", "20", "--duration", "3s"]
REPORT = ROOT / "build/demo/load.html"


def address_of(server):
    """The address that the server says it listens on, from its first line: listening on 127.0.0.1:50051"""
    ready, _, _ = select.select([server.stdout], [], [], START_TIMEOUT_S)
    line = server.stdout.readline() if ready else ""
    found = re.search(r"listening on (\S+:\d+)", line)
    if not found:
        raise RuntimeError(f"the movie server did not say where it listens, but {line!r}")
    print(f"server: {line.strip()}")
    return found[1]


def main():
    print("$ movie_server --port=0")
    server = subprocess.Popen([BIN / "movie_server", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        address = address_of(server)
        print(f"$ movie_client {address}", flush=True)
        client = subprocess.run([BIN / "movie_client", address], stdin=subprocess.DEVNULL, timeout=CLIENT_TIMEOUT_S)
        print("$ coracle load", address, "-p", shlex.join(LOAD), "--report", REPORT.relative_to(ROOT), flush=True)
        load = subprocess.run([BIN / "coracle", "load", address, "-p", *LOAD, "--report", REPORT], stdin=subprocess.DEVNULL,
                              timeout=CLIENT_TIMEOUT_S)
        print("$ kill -TERM the server: it finishes its calls and ends", flush=True)
        server.terminate()
        code = server.wait(STOP_TIMEOUT_S)
        print(f"server: exit code {code}")
        if load.returncode == 0:
            print(f"The report of the load, with charts, for a browser: {REPORT.relative_to(ROOT)}")
        return client.returncode or load.returncode or code
    except (RuntimeError, subprocess.TimeoutExpired) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
