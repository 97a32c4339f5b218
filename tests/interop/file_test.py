"""Example 11_file: a file of CORACLE_FILE_MIB MiB (64 unless told) to the server and back; what came is compared, memory bounded."""

import hashlib
import os
import pathlib
import re
import subprocess
import time

from programs import Server, own, run

MIB = 1 << 20
SIZE = int(os.environ.get("CORACLE_FILE_MIB", "64")) * MIB
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
        assert client.returncode == 0, f"the exit code ({client.stdout.read()[-400:]})"
    return peak, time.monotonic() - began


def test_goes_there_and_back(backend, tmp_path):
    env = {"CORACLE_BACKEND": backend}
    shelf, source, back = (pathlib.Path(tmp_path, name) for name in ("shelf", "source", "back"))
    shelf.mkdir()
    small, of_small = tmp_path / "small", {}
    with Server(own("file_server"), "--port=0", shelf, env=env) as server:
        random_file(small, 4 * MIB)
        of_small["put"], _ = client_peak(server, "put", small, "small", env=env)
        of_small["get"], _ = client_peak(server, "get", "small", tmp_path / "small_back", env=env)
        before = peak_bytes(server.process.pid)
        wanted = random_file(source, SIZE)
        for what, words in (("put", (source, "large")), ("get", ("large", back))):
            peak, took = client_peak(server, what, *words, env=env)
            assert peak - of_small[what] <= GROWTH_BYTES, f"the client grew by {peak - of_small[what]} bytes ({what})"
            print(f"{backend} {what}: {SIZE / MIB / took:.0f} MiB/s, the client's peak is {peak / MIB:.1f} MiB, "
                  f"the server's {peak_bytes(server.process.pid) / MIB:.1f} MiB")
        grown = peak_bytes(server.process.pid) - before
        assert grown <= GROWTH_BYTES, f"the server grew by {grown} bytes"
        assert digest_of(shelf / "large") == wanted, "the digest of what the server keeps"
        assert digest_of(back) == wanted, "the digest of what came back"
        assert server.stop() == 0, "the server's exit code"


def test_comes_empty(backend, tmp_path):
    env = {"CORACLE_BACKEND": backend}
    shelf, empty, back = (pathlib.Path(tmp_path, name) for name in ("shelf", "empty", "back"))
    shelf.mkdir()
    empty.touch()
    with Server(own("file_server"), "--port=0", shelf, env=env) as server:
        client_peak(server, "put", empty, "empty", env=env)
        client_peak(server, "get", "empty", back, env=env)
        assert back.stat().st_size == 0, "the size of what came back"


def test_stays_in_its_folder(backend, tmp_path):
    env = {"CORACLE_BACKEND": backend}
    shelf, secret = tmp_path / "shelf", tmp_path / "secret"
    shelf.mkdir()
    secret.write_text("not for you")
    with Server(own("file_server"), "--port=0", shelf, env=env) as server:
        for words, why in ((("get", "../secret", tmp_path / "got"), "INVALID_ARGUMENT"),
                           (("get", "nothing", tmp_path / "got"), "NOT_FOUND"),
                           (("put", secret, "../more"), "INVALID_ARGUMENT")):
            done = run(own("file_client"), server.address, *words, env=env)
            assert done.returncode == 1, f"the exit code of {words}"
            assert why in done.stderr, f"it does not say {why}: {done.stderr}"
        assert sorted(os.listdir(tmp_path)) == ["secret", "shelf"], "what lies there"
