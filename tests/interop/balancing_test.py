"""Balancing policies of service configs: which server a call gets from our channel, and from grpcio's, over the same servers."""

import collections
import json
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from programs import own

pytest.importorskip("grpc", reason="./dev peers installs it")

import grpc  # noqa: E402

METHOD = "/where.Where/Ask"
USERS = [f"user {i}" for i in range(200)]


class Servers:
    """grpcio's servers, each of which answers with its port."""

    def __init__(self, number, behave=lambda index, context: None):
        self.servers, self.ports = [], []
        for index in range(number):
            server = grpc.server(ThreadPoolExecutor(2))
            port = server.add_insecure_port("127.0.0.1:0")

            def ask(_request, context, index=index, port=port):
                behave(index, context)
                return str(port).encode()

            handler = grpc.method_handlers_generic_handler("where.Where", {"Ask": grpc.unary_unary_rpc_method_handler(ask)})
            server.add_generic_rpc_handlers((handler,))
            server.start()
            self.servers.append(server)
            self.ports.append(port)
        self.target = "ipv4:" + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop(None)


class Ours:
    def __init__(self, target, policy, backend):
        config = json.dumps({"loadBalancingConfig": [policy]})
        self.process = subprocess.Popen([own("balancing_client"), target, config], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={"CORACLE_BACKEND": backend})

    def ask(self, user=""):
        self.process.stdin.write(user + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "balancing_client has ended"
        return line.strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(20) == 0, "the exit code of balancing_client"


class Grpcio:
    def __init__(self, target, policy):
        config = json.dumps({"loadBalancingConfig": [policy]})
        self.channel = grpc.insecure_channel(target, options=[("grpc.service_config", config)])
        self.call = self.channel.unary_unary(METHOD)

    def ask(self, user=""):
        try:
            return self.call(b"", metadata=[("user", user)] if user else None, wait_for_ready=True, timeout=20).decode()
        except grpc.RpcError as error:
            return error.code().name

    def end(self):
        self.channel.close()


def clients(target, policy, backend):
    return Ours(target, policy, backend), Grpcio(target, policy)


def test_ring_hash_sends_each_value_to_the_same_server_as_grpcio(backend, monkeypatch):
    monkeypatch.setenv("GRPC_EXPERIMENTAL_RING_HASH_SET_REQUEST_HASH_KEY", "true")
    policy = {"ring_hash_experimental": {"requestHashHeader": "user"}}
    with Servers(5) as servers:
        ours, theirs = clients(servers.target, policy, backend)
        places = {user: ours.ask(user) for user in USERS}
        assert set(places.values()) == {str(port) for port in servers.ports}, "some server has no value"
        assert places == {user: theirs.ask(user) for user in USERS}
        assert places == {user: ours.ask(user) for user in USERS}, "the second time"
        ours.end()
        theirs.end()


def test_weighted_round_robin_follows_the_load_as_grpcio_does(backend):
    policy = {"weighted_round_robin": {"blackoutPeriod": "0s", "weightUpdatePeriod": "0.1s"}}

    def report(index, context):
        # OrcaLoadReport: application_utilization = 9, rps_fractional = 6, both doubles.
        utilization, qps = (0.2, 0.4, 0.8)[index], 100.0
        report = b"\x49" + struct.pack("<d", utilization) + b"\x31" + struct.pack("<d", qps)
        context.set_trailing_metadata([("endpoint-load-metrics-bin", report)])

    with Servers(3, report) as servers:
        ours, theirs = clients(servers.target, policy, backend)
        for client in ours, theirs:
            until = time.monotonic() + 0.5  # some periods of updates, with reports
            while time.monotonic() < until:
                client.ask()
            counts = collections.Counter(client.ask() for _ in range(1400))
            shares = [counts[str(port)] / 1400 for port in servers.ports]
            for share, expected in zip(shares, (4 / 7, 2 / 7, 1 / 7)):
                assert abs(share - expected) < 0.04, f"{client}: {shares}"
            client.end()


def test_outlier_detection_leaves_a_server_that_fails_as_grpcio_does(backend):
    policy = {"outlier_detection_experimental": {
        "interval": "0.5s", "baseEjectionTime": "60s", "maxEjectionPercent": 50,
        "failurePercentageEjection": {"threshold": 50, "minimumHosts": 3, "requestVolume": 5},
        "childPolicy": [{"round_robin": {}}]}}

    def fail_on_one(index, context):
        if index == 1:
            context.abort(grpc.StatusCode.INTERNAL, "as always")

    with Servers(3, fail_on_one) as servers:
        ours, theirs = clients(servers.target, policy, backend)
        for client in ours, theirs:
            until = time.monotonic() + 15
            good = 0
            while good < 60 and time.monotonic() < until:
                answer = client.ask()
                good = 0 if answer == "INTERNAL" else good + 1
            assert good == 60, f"{client}: calls still fail"
            client.end()


@pytest.mark.parametrize("policy", [{"least_request_experimental": {"choiceCount": 2}}, {"round_robin": {}},
                                    {"random_subsetting_experimental": {"subsetSize": 2, "childPolicy": [{"round_robin": {}}]}}],
                         ids=["least_request", "round_robin", "random_subsetting"])
def test_calls_spread_over_the_servers_of_the_policy(policy, backend):
    wanted = 2 if "random_subsetting_experimental" in policy else 4
    with Servers(4) as servers:
        ours = Ours(servers.target, policy, backend)
        until = time.monotonic() + 15
        seen = set()
        while len(seen) < wanted and time.monotonic() < until:  # until all servers are connected
            seen.add(ours.ask())
        counts = collections.Counter(ours.ask() for _ in range(400))
        assert len(counts) == wanted, counts
        assert min(counts.values()) > 400 / wanted / 2, counts
        ours.end()
