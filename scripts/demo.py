#!/usr/bin/env python3
"""The main job, to watch: builds what it needs, starts the movie server on a free port, drives every kind of call through it, then a
short load.

Then it serves the same movies to a page in a browser. On a terminal, until Ctrl-C; else it reads the page, and ends.
"""

import json
import os
import pathlib
import re
import select
import shlex
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build/demo/bin"
START_TIMEOUT_S = 10
CLIENT_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
LOAD = ["AddMovie", "-d", '{"title": "Part {{call}}"}', "-c", "20", "--duration", "3s"]
REPORT = ROOT / "build/demo/load.html"
RESULT = ROOT / "build/demo/load.json"
TARGETS = ["movie_server", "movie_client", "movie_web_server", "coracle_program"]
STEP = re.compile(r"\[(\d+)/(\d+)\] ")  # of ninja
ON_TERMINAL = sys.stdout.isatty()
MOVIES = [{"title": "Stalker", "genres": ["SCI_FI"], "yearOfProduction": 1979}, {"title": "Persona", "genres": ["DRAMA"], "yearOfProduction": 1966}]


def build(targets):
    """On a terminal one line tells how far it is; the compiler's output is shown if it fails."""
    print("Building the library, the programs and the command coracle: about 2 minutes on two idle cores, seconds the next time.", flush=True)
    subprocess.run(["cmake", "--preset", "demo"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    building = subprocess.Popen(["cmake", "--build", "--preset", "demo", "--target", *targets], cwd=ROOT, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "NINJA_STATUS": "[%f/%t] "})
    output = []
    for line in building.stdout:
        output.append(line)
        step = STEP.match(line)
        if step and ON_TERMINAL:
            print(f"\r  {step[1]} of {step[2]} steps", end="", flush=True)
    if ON_TERMINAL:
        print("\r\x1b[K", end="")
    if building.wait() != 0:
        raise RuntimeError("it does not build:\n" + "".join(output[-40:]))


def as_link(text, url):
    """What terminals that know links open."""
    return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if ON_TERMINAL else text


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
        load = subprocess.run([BIN / "coracle", "load", address, "-p", *LOAD, "--report", REPORT, "--json", RESULT], stdin=subprocess.DEVNULL,
                              timeout=CLIENT_TIMEOUT_S)
        print("$ kill -TERM the server: it finishes its calls and ends", flush=True)
        code = stop(server)
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
        if ON_TERMINAL:
            url = f"http://{address}/"
            print(f"Open the page of the same service: {as_link(url, url)}\nCtrl-C ends it.", flush=True)
            try:
                server.wait()
            except KeyboardInterrupt:
                print()
        else:
            print("It has served its page. On a terminal it goes on, and the page can be opened.", flush=True)
        return stop(server)
    finally:
        end(server)


def summary(seconds):
    run = json.loads(RESULT.read_text())["runs"][0]
    report = as_link(str(REPORT.relative_to(ROOT)), REPORT.as_uri())
    print(f"\nShown in {int(seconds) // 60}:{int(seconds) % 60:02}: the four kinds of call, a deadline that expired, and {run['ok']:,} calls of a load, of which 99 % "
          f"took at most {run['latency_ms']['p99']:.3g} ms.\nThe report of the load, with charts: {report}", flush=True)


def main():
    began = time.monotonic()
    try:
        build(TARGETS)
        code = calls_and_load()
        if code == 0:
            summary(time.monotonic() - began)
        return code or page()
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
