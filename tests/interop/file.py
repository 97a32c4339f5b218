#!/usr/bin/env python3
"""Example 11_file: a file of MIB MiB (64 unless told) to the server and back; what came is compared, memory bounded."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import stage
from stage import Cases, Server, equal, expect, own, run

MIB = 1 << 20
SIZE = int(sys.argv[1] if len(sys.argv) > 1 else 64) * MIB
BLOCK = 4 * MIB
# What either program may grow by with a file of any size: windows and pieces, which both backends' buffers come on top of.
GROWTH_BYTES = 12 * MIB


def random_file(path, size):
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for at in range(0, size, BLOCK):
            block = os.urandom(min(BLOCK, size - at))
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def peak_bytes(pid):
    return int(re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def client_peak(server, *words, env):
    """Runs the client to its end; its peak of memory, looked at while it ran, and the seconds that it took."""
    began = time.monotonic()
    with subprocess.Popen([own("file_client"), server.address, *words], env={**os.environ, **env},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as client:
        peak = 0
        while client.poll() is None:
            try:
                peak = max(peak, peak_bytes(client.pid))
            except TypeError:  # it has ended, and waits for us
                pass
            time.sleep(0.002)
        equal(client.returncode, 0, f"the exit code ({client.stdout.read()[-400:]})")
    return peak, time.monotonic() - began


def goes_there_and_back(backend):
    env = {"CORACLE_BACKEND": backend}
    with tempfile.TemporaryDirectory() as folder:
        shelf, source, back = (pathlib.Path(folder, name) for name in ("shelf", "source", "back"))
        shelf.mkdir()
        small, of_small = pathlib.Path(folder, "small"), {}
        with Server(own("file_server"), "--port=0", shelf, env=env) as server:
            random_file(small, 4 * MIB)
            of_small["put"], _ = client_peak(server, "put", small, "small", env=env)
            of_small["get"], _ = client_peak(server, "get", "small", pathlib.Path(folder, "small_back"), env=env)
            before = peak_bytes(server.process.pid)
            wanted = random_file(source, SIZE)
            for what, words in (("put", (source, "large")), ("get", ("large", back))):
                peak, took = client_peak(server, what, *words, env=env)
                expect(peak - of_small[what] <= GROWTH_BYTES, f"the client grew by {peak - of_small[what]} bytes ({what})")
                print(f"{backend} {what}: {SIZE / MIB / took:.0f} MiB/s, the client's peak is {peak / MIB:.1f} MiB, "
                      f"the server's {peak_bytes(server.process.pid) / MIB:.1f} MiB")
            grown = peak_bytes(server.process.pid) - before
            expect(grown <= GROWTH_BYTES, f"the server grew by {grown} bytes")
            equal(digest_of(shelf / "large"), wanted, "the digest of what the server keeps")
            equal(digest_of(back), wanted, "the digest of what came back")
            equal(server.stop(), 0, "the server's exit code")


def comes_empty(backend):
    env = {"CORACLE_BACKEND": backend}
    with tempfile.TemporaryDirectory() as folder:
        shelf, empty, back = (pathlib.Path(folder, name) for name in ("shelf", "empty", "back"))
        shelf.mkdir()
        empty.touch()
        with Server(own("file_server"), "--port=0", shelf, env=env) as server:
            client_peak(server, "put", empty, "empty", env=env)
            client_peak(server, "get", "empty", back, env=env)
            equal(back.stat().st_size, 0, "the size of what came back")


def stays_in_its_folder(backend):
    env = {"CORACLE_BACKEND": backend}
    with tempfile.TemporaryDirectory() as folder:
        shelf, secret = pathlib.Path(folder, "shelf"), pathlib.Path(folder, "secret")
        shelf.mkdir()
        secret.write_text("not for you")
        with Server(own("file_server"), "--port=0", shelf, env=env) as server:
            for words, why in ((("get", "../secret", folder + "/got"), "INVALID_ARGUMENT"),
                               (("get", "nothing", folder + "/got"), "NOT_FOUND"),
                               (("put", secret, "../more"), "INVALID_ARGUMENT")):
                done = run(own("file_client"), server.address, *words, env=env)
                equal(done.returncode, 1, f"the exit code of {words}")
                expect(why in done.stderr, f"it does not say {why}: {done.stderr}")
            equal(sorted(os.listdir(folder)), ["secret", "shelf"], "what lies there")


if __name__ == "__main__":
    cases = Cases()
    for name in stage.backends():
        cases.run(f"File.{name}.GoesThereAndBack", goes_there_and_back, name)
        cases.run(f"File.{name}.ComesEmpty", comes_empty, name)
        cases.run(f"File.{name}.StaysInItsFolder", stays_in_its_folder, name)
    cases.end()
