"""Debian's etcd on a port of its own."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

START_LIMIT_S = 30


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def text64(text):
    return base64.b64encode(text.encode()).decode()


class Etcd:
    """A member alone, in a folder; until the with-block ends."""

    def __init__(self, folder, *options):
        self.options = options
        self.token = None  # of the user of ask(), if etcd demands one
        if not shutil.which("etcd"):
            pytest.skip("etcd is not installed; ./dev peers installs it")
        self.folder = folder
        self.data = folder / "data"
        self.port, self.peer_port = free_port(), free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        url, peer = f"http://{self.address}", f"http://127.0.0.1:{self.peer_port}"
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name", "one", "--data-dir", self.data, "--listen-client-urls", url, "--advertise-client-urls", url,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}",
                 "--unsafe-no-fsync", *self.options], stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return self.ask("kv/range", key=text64("x"))
            except urllib.error.HTTPError:
                return None  # it demands a password
            except OSError:
                assert time.monotonic() < end and self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
                time.sleep(0.1)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def lose_data(self):
        shutil.rmtree(self.data)

    def ask(self, path, **fields):
        """The answer of the gateway that speaks JSON."""
        headers = {"Authorization": self.token} if self.token else {}
        request = urllib.request.Request(f"http://{self.address}/v3/{path}", json.dumps(fields).encode(), headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def demand_passwords(self, password):
        """From now on requests need a user; root has the password."""
        self.ask("auth/user/add", name="root", password=password)
        self.ask("auth/role/add", name="root")
        self.ask("auth/user/grant", user="root", role="root")
        self.ask("auth/enable")
        self.enter(password)

    def enter(self, password):
        self.token = None
        self.token = self.ask("auth/authenticate", name="root", password=password)["token"]

    def put(self, key, value):
        self.ask("kv/put", key=text64(key), value=text64(value))

    def delete(self, key):
        self.ask("kv/deleterange", key=text64(key))

    def keys(self, prefix):
        """{key: (value, lease)}"""
        answer = self.ask("kv/range", key=text64(prefix), range_end=text64(prefix[:-1] + chr(ord(prefix[-1]) + 1)))
        return {base64.b64decode(one["key"]).decode(): (base64.b64decode(one["value"]).decode(), one.get("lease"))
                for one in answer.get("kvs", [])}

    def wait_until(self, condition, prefix, limit_s):
        """Waits until the keys fulfil the condition; the keys."""
        end = time.monotonic() + limit_s
        while not condition(self.keys(prefix)):
            assert time.monotonic() < end, f"after {limit_s} s there is {self.keys(prefix)}"
            time.sleep(0.05)
        return self.keys(prefix)

    def compact(self):
        """Forgets the revisions before the present one."""
        revision = self.ask("kv/range", key=text64("x"))["header"]["revision"]
        self.ask("kv/compaction", revision=revision)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
