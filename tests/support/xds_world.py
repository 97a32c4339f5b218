"""Clients of xDS side by side, of the same servers, and what their control plane serves them."""

import contextlib
import json
import os
import subprocess
import sys
import time

import pytest

from control_plane import OwnPlane, SnapshotPlane
from programs import ROOT, backends, own, peer

LIMIT_S = 20
PLANES = {"own": OwnPlane, "go-control-plane": SnapshotPlane}
# What grpcio and grpc-go do not do unless they are told to: gRFCs A88, A61, A113 and A76.
EXPERIMENTS = {f"GRPC_EXPERIMENTAL_{name}": "true" for name in (
    "XDS_DATA_ERROR_HANDLING", "XDS_DUALSTACK_ENDPOINTS", "PF_WEIGHTED_SHUFFLING", "RING_HASH_SET_REQUEST_HASH_KEY")}
EXPERIMENTS["GRPC_XDS_ENDPOINT_HASH_KEY_BACKWARD_COMPAT"] = "false"


class Client:
    """A program that makes calls; the id of its node is its name."""

    def __init__(self, name, command, bootstrap, env):
        self.name = name
        bootstrap = {**bootstrap, "node": {"id": name}}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **EXPERIMENTS, **env, "GRPC_XDS_BOOTSTRAP_CONFIG": json.dumps(bootstrap)})

    def begin(self, target, path="/a.A/A", count=1, **metadata):
        """Calls, with the count 0 until end()."""
        fields = [f"{name.replace('_', '-')}={value}" for name, value in metadata.items()]
        self.process.stdin.write(" ".join([str(count), target, path, *fields]) + "\n")
        self.process.stdin.flush()

    def answers(self):
        """How often each answer came: ports and names of status codes."""
        line = self.process.stdout.readline()
        assert line, f"the client {self.name} has ended"
        pairs = [word.rpartition("=") for word in line.split()]
        return {int(answer) if answer.isdigit() else answer: int(times) for answer, _, times in pairs}

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        try:
            code = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "none"
        assert kind or code == 0, f"the exit code of {self.name}: {code}"


class World:
    """A control plane, its clients, and servers."""

    def __init__(self, plane, ports):
        self.plane, self.ports = plane, ports
        self.clients = []
        self.name, self.target = "", ""  # of the listener

    def serve(self, *of):
        """Sets all resources: messages of any type."""
        by_type = {kind: [] for kind in self.plane.resources}
        for one in of:
            by_type[type(one).__name__].append(one)
        self.plane.set(**by_type)

    def each(self, count=1, **call):
        """The answers of each client, by name; they call at the same time."""
        for one in self.clients:
            one.begin(self.target, count=count, **call)
        return {one.name: one.answers() for one in self.clients}

    def expect(self, expected, **call):
        """Waits until one call gets the expected answer, from each client."""
        end = time.monotonic() + LIMIT_S
        while True:
            seen = self.each(**call)
            if all(set(answers) == {expected} for answers in seen.values()):
                return
            assert time.monotonic() < end, f"{call}: expected {expected}, and not {seen}"

    def shares(self, count, **call):
        """What part of the calls got each answer, by client."""
        return {name: {answer: times / count for answer, times in answers.items()}
                for name, answers in self.each(count=count, **call).items()}

    def expect_shares(self, expected, within, count=1000, **call):
        """Waits until all answers have been seen, and compares shares."""
        end = time.monotonic() + LIMIT_S
        while any(set(answers) != set(expected) for answers in self.each(count=20 * len(expected), **call).values()):
            assert time.monotonic() < end, f"not all of {expected}, but {self.each(count=100, **call)}"
        seen = self.shares(count, **call)
        for name, share in seen.items():
            assert share == pytest.approx(expected, abs=within), f"{name}: {seen}"


def commands():
    """(name, command, environment) of each client."""
    for backend in backends():
        yield f"coracle-{backend}", [own("xds_peer"), "client"], {"CORACLE_BACKEND": backend}
    yield "grpcio", [sys.executable, ROOT / "tests/interop/peers/xds_client.py"], {}
    yield "grpc-go", [peer("xds"), "client"], {}


def servers_at(*addresses, features=()):
    """Control planes as a bootstrap has them, the first one first."""
    return {"xds_servers": [{"server_uri": one, "channel_creds": [{"type": "insecure"}], "server_features": list(features)} for one in addresses]}


@contextlib.contextmanager
def clients_of(world, bootstrap):
    with contextlib.ExitStack() as running:
        world.clients = [running.enter_context(Client(name, command, bootstrap, env)) for name, command, env in commands()]
        yield world


@contextlib.contextmanager
def calls_without_end(world, *expected, apart=(), **call):
    """Each client calls until the block ends; no call may have another answer than these ports, but of clients apart. `call` is its path and
    metadata."""
    for each in world.clients:
        each.begin(world.target, count=0, **call)
    seen = {}
    try:
        yield
    finally:
        for each in world.clients:
            each.begin(world.target)
            seen[each.name] = each.answers()
            each.answers()
    for name, answers in seen.items():
        assert name in apart or answers and set(answers) <= set(expected), f"{name} lost calls: {seen}"
