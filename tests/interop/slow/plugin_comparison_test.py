"""The same calls through grpc-go's plugin for OpenTelemetry and through Coracle, on both sides: names, units, bounds, labels and counts of
what both measure. The plugin's modules take long to compile, so only the whole run does."""

import json

import pytest

import peers
from programs import Server, own, run

LIMIT_S = 60
CLIENT = {"grpc.client.attempt.started", "grpc.client.attempt.duration", "grpc.client.attempt.sent_total_compressed_message_size",
          "grpc.client.attempt.rcvd_total_compressed_message_size", "grpc.client.call.duration"}
SERVER = {"grpc.server.call.started", "grpc.server.call.duration", "grpc.server.call.sent_total_compressed_message_size",
          "grpc.server.call.rcvd_total_compressed_message_size"}


@pytest.fixture(scope="module")
def programs():
    try:
        return {"go": peers.otel_plugin(), "coracle": own("metrics_peer")}
    except peers.Missing as reason:
        pytest.skip(str(reason))


def instruments(lines):
    return {one["name"]: one for one in map(json.loads, (line for line in lines if line.startswith("{")))}


@pytest.fixture(scope="module")
def measured(programs):
    """By the names of server and client: the instruments of both, and the address of the server."""
    pairs = {}
    for server in programs:
        for client in programs:
            with Server(programs[server], "server") as serving:
                calling = run(programs[client], "client", serving.address, limit_s=LIMIT_S)
                assert calling.returncode == 0, calling.stderr
                assert serving.stop() == 0
                pairs[server, client] = instruments(serving.all_said()), instruments(calling.stdout.splitlines()), serving.address
    return pairs


def points(instrument, address="", without=()):
    """The points by their labels, in which the address is the same for all. Durations have counts alone."""
    exact = instrument["unit"] != "s"
    return {tuple(sorted((key, value.replace(address, "SERVER") if address else value) for key, value in point["labels"].items())):
            (point["count"], point["sum"] if exact else None, point.get("counts") if exact else sum(point["counts"]))
            for point in instrument["points"] if point["labels"].get("grpc.status") not in without}


def same_shape(one, other):
    return all(one.get(key) == other.get(key) for key in ("unit", "kind", "bounds"))


def test_clients_measure_the_same(measured):
    _, go, at_go = measured["go", "go"]
    for server in ("go", "coracle"):
        _, coracle, address = measured[server, "coracle"]
        assert set(go) == CLIENT == set(coracle)
        for name in CLIENT:
            assert same_shape(coracle[name], go[name]), name
            assert points(coracle[name], address) == points(go[name], at_go), (name, server)


def test_servers_measure_the_same(measured):
    go, _, _ = measured["go", "go"]
    for client in ("go", "coracle"):
        coracle, _, _ = measured["coracle", client]
        assert set(go) == SERVER == set(coracle)
        for name in SERVER:
            assert same_shape(coracle[name], go[name]), name
            # Whether a server learns of the deadline by its own clock or by the client's RST_STREAM is a race.
            either = ("DEADLINE_EXCEEDED", "CANCELLED")
            assert points(coracle[name], without=either) == points(go[name], without=either), (name, client)
            for side in (coracle, go):
                late = [point for point in side[name]["points"] if point["labels"].get("grpc.status") in either]
                assert sum(point["count"] for point in late) == (0 if name == "grpc.server.call.started" else 1), name
