"""The programs of the mesh: its three servers, the clients that call without a pause, and the bootstraps of both."""

import collections
import json
import os
import re
import subprocess
import sys
import threading
import time

from programs import BIN, Background

HOST = "backend.mesh"  # in the certificates of the servers
CLIENT = "mesh-client"  # in that of the clients
TARGET = "xds:///backend"
TICK_S = 0.2
START_LIMIT_S = 20
SERVES = re.compile(r" serves$")


def bootstrap(plane, node, folder, certificate):
    files = {"certificate_file": f"{folder}/{certificate}.pem", "private_key_file": f"{folder}/{certificate}.key", "ca_certificate_file": f"{folder}/ca.pem"}
    return {"GRPC_XDS_BOOTSTRAP_CONFIG": json.dumps({
        "xds_servers": [{"server_uri": plane.address, "channel_creds": [{"type": "insecure"}]}],
        "node": {"id": node}, "server_listener_resource_name_template": "backend/%s",
        "certificate_providers": {"mesh": {"plugin_name": "file_watcher", "config": files}}})}


def read(before, url):
    """What a GET finds on the machine of a member."""
    program = "import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1], timeout=10).read())"
    return subprocess.run([*before, sys.executable, "-c", program, url], capture_output=True, check=True, timeout=20).stdout.decode()


class Backend:
    """A server, which is started several times, in a version."""

    def __init__(self, network, folder, number):
        self.name = f"backend-{number}"
        self.folder = folder
        self.host = network.address(10 + number)
        self.port = network.port
        self.address = f"{self.host}:{self.port}"
        network.add(self.name, 10 + number)
        self.fault = folder / f"{self.name} is out of order"
        self.pages = network.pages_of(10 + number)
        self.before = network.command(self.name)
        self.version = ""
        self.healthy = True
        self.starts = 0
        self.process = None

    def start(self, version, plane):
        """Returns when the control plane has configured it."""
        self.version = version
        self.starts += 1
        self.process = Background(*self.before, BIN / "mesh_server", f"--address={self.address}", f"--name={self.name}", f"--version={version}",
                                  f"--pages={self.pages}", f"--fault={self.fault}", env=bootstrap(plane, self.name, self.folder, "server"))
        self.process.wait_for(SERVES, START_LIMIT_S)

    def stop(self):
        """Its exit code: it ends when its calls have."""
        return self.process.stop()

    def page(self, name):
        """A page for operators, as JSON; it is for clients on the server's own machine."""
        return json.loads(read(self.before, f"http://{self.pages}/pages/json/{name}"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.__exit__()


class Caller:
    """Calls without a pause from the beginning to the end, and knows when it got which answer: SERVER/VERSION, or a status code."""

    def __init__(self, network, plane, folder, name, callers, *words, metrics=""):
        self.name = name
        self.metrics = metrics
        self.before = network.command("clients")
        self.began = time.monotonic()
        self.samples = []  # (time, answers since the one before)
        self._changed = threading.Condition()
        self._over = threading.Event()
        self.errors = folder / f"{name}.log"
        with self.errors.open("w") as errors:
            self._process = subprocess.Popen(
                [*self.before, BIN / "mesh_client", TARGET, f"--callers={callers}", *([f"--metrics={metrics}"] if metrics else []), *words], text=True,
                env={**os.environ, **bootstrap(plane, name, folder, "client")}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self):
        while not self._over.wait(TICK_S):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            self._keep(self._process.stdout.readline())

    def _keep(self, line):
        answers = collections.Counter({answer: int(times) for answer, times in (word.rsplit("=", 1) for word in line.split())})
        with self._changed:
            self.samples.append((time.monotonic(), answers))
            self._changed.notify_all()

    def answers(self, after=0, before=None):
        """Those of some samples."""
        return sum((of for _, of in self.samples[after:before]), collections.Counter())

    def watch(self, seconds):
        """The answers of that time from now on."""
        end = time.monotonic() + seconds
        with self._changed:
            begin = len(self.samples)
            if not self._changed.wait_for(lambda: len(self.samples) > begin + 1 and self.samples[-1][0] >= end, seconds + START_LIMIT_S):
                raise AssertionError(f"the client {self.name} has ended: see {self.errors}")
        return self.answers(begin + 1)  # the first sample began before

    def wait_for(self, condition, limit_s):
        """Until the answers of some moment meet it. Returns whether they do."""
        end = time.monotonic() + limit_s
        while not condition(self.watch(2 * TICK_S)):
            if time.monotonic() > end:
                return False
        return True

    def measured(self, name):
        """The series of a metric: their labels and their values."""
        lines = re.findall(rf"^{name}\{{(.*)\}} (\S+)", read(self.before, f"http://{self.metrics}/metrics"), re.M)
        return [(dict(re.findall(r'(\w+)="([^"]*)"', labels)), float(value)) for labels, value in lines]

    def end(self):
        """Its exit code, when its last calls have ended."""
        self._over.set()
        self._thread.join()
        self._keep(self._process.communicate(timeout=START_LIMIT_S)[0])
        return self._process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._over.set()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def failed(answers):
    """How many of them are status codes."""
    return sum(times for answer, times in answers.items() if "/" not in answer)


def call_once(network, env, target):
    """The completed process of one call."""
    return subprocess.run([*network.command("clients"), BIN / "mesh_client", target], capture_output=True, text=True, timeout=START_LIMIT_S,
                          env={**os.environ, **env})
