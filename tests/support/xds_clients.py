"""The clients of xDS that are compared: ours, grpcio's and grpc-go's."""

import json
import os
import subprocess
import sys

from programs import ROOT, backends, own, peer

LIMIT_S = 20
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
        pairs = [word.split("=") for word in line.split()]
        return {int(answer) if answer.isdigit() else answer: int(times) for answer, times in pairs}

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


def commands():
    """(name, command, environment) of each client."""
    for backend in backends():
        yield f"coracle-{backend}", [own("xds_peer"), "client"], {"CORACLE_BACKEND": backend}
    yield "grpcio", [sys.executable, ROOT / "tests/interop/peers/xds_client.py"], {}
    yield "grpc-go", [peer("xds"), "client"], {}


def servers_at(*addresses, features=()):
    """Control planes as a bootstrap has them, the first one first."""
    return {"xds_servers": [{"server_uri": one, "channel_creds": [{"type": "insecure"}], "server_features": list(features)} for one in addresses]}
