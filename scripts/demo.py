#!/usr/bin/env python3
"""The main job, to watch: starts the movie server on a free port, drives every kind of call through it, then a short load.

Then it serves the same movies to a page in a browser. On a terminal, until Ctrl-C; else it reads the page, and ends.
"""

import json
import pathlib
import re
import select
import shlex
import subprocess
import sys
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build/demo/bin"
START_TIMEOUT_S = 10
CLIENT_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
LOAD = ["AddMovie", "-d", '{"title": "Part {{call}}"}', "-c", "20", "--duration", "3s"]
REPORT = ROOT / "build/demo/load.html"
MOVIES = [{"title": "Stalker", "genres": ["SCI_FI"], "yearOfProduction": 1979}, {"title": "Persona", "genres": ["DRAMA"], "yearOfProduction": 1966}]


def address_of(server):
    """The address that the server says it listens on, from its first line: listening on 127.0.0.1:50051"""
    ready, _, _ = select.select([server.stdout], [], [], START_TIMEOUT_S)
    line = server.stdout.readline() if ready else ""
    found = re.search(r"listening on (\S+:\d+)", line)
    if not found:
        raise RuntimeError(f"the movie server did not say where it listens, but {line!r}")
    print(f"server: {line.strip()}")
    return found[1]


def start(*words):
    """The server, and its address."""
    print("$", shlex.join(words))
    server = subprocess.Popen([BIN / words[0], *words[1:]], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        return server, address_of(server)
    except RuntimeError:
        end(server)
        raise


def stop(server):
    server.terminate()
    code = server.wait(STOP_TIMEOUT_S)
    print(f"server: exit code {code}")
    return code


def end(server):
    if server.poll() is None:
        server.kill()
        server.wait()


def calls_and_load():
    server, address = start("movie_server", "--port=0")
    try:
        print(f"$ movie_client {address}", flush=True)
        client = subprocess.run([BIN / "movie_client", address], stdin=subprocess.DEVNULL, timeout=CLIENT_TIMEOUT_S)
        print("$ coracle load", address, "-p", shlex.join(LOAD), "--report", REPORT.relative_to(ROOT), flush=True)
        load = subprocess.run([BIN / "coracle", "load", address, "-p", *LOAD, "--report", REPORT], stdin=subprocess.DEVNULL,
                              timeout=CLIENT_TIMEOUT_S)
        print("$ kill -TERM the server: it finishes its calls and ends", flush=True)
        code = stop(server)
        if load.returncode == 0:
            print(f"The report of the load, with charts, for a browser: {REPORT.relative_to(ROOT)}")
        return client.returncode or load.returncode or code
    finally:
        end(server)


def page():
    server, address = start("movie_web_server", "--port=0")
    try:
        for movie in MOVIES:
            body = json.dumps(movie).encode()
            request = urllib.request.Request(f"http://{address}/v1/movies", body, {"content-type": "application/json"})
            urllib.request.urlopen(request, timeout=CLIENT_TIMEOUT_S).close()
        with urllib.request.urlopen(f"http://{address}/", timeout=CLIENT_TIMEOUT_S) as response:
            if b"<title>Movies</title>" not in response.read():
                raise RuntimeError("the page is another one")
        print(f"The same service with a page for browsers: http://{address}/", flush=True)
        if sys.stdout.isatty():
            print("Ctrl-C ends it.", flush=True)
            try:
                server.wait()
            except KeyboardInterrupt:
                print()
        return stop(server)
    finally:
        end(server)


def main():
    try:
        return calls_and_load() or page()
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
