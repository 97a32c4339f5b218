"""GRPC_BINARY_LOG_FILTER in relinked programs: what their servers and clients log, in each API. The original library has no binary log,
so that the calls themselves are the model: both sides of a call agree."""

import collections
import json

import pytest

from programs import Server, own, run

LIMIT_S = 60
LOGGERS = {"client", "server"}


def entries(path):
    done = run(own("coracle"), "binlog", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def outcomes(logged, logger):
    """How often each method ended with each status, by the log of one side."""
    assert {one["logger"] for one in logged} == {logger}
    return collections.Counter((one["method"], one["status"]) for one in logged if one["event"] == "server_trailer")


def payloads(logged, event):
    return collections.Counter(one["data"] for one in logged if one["event"] == event)


@pytest.mark.parametrize("api", ["sync", "queue", "callback"])
def test_both_sides_log_the_same_calls(api, tmp_path):
    logs = {side: tmp_path / side for side in LOGGERS}
    program = own("programs_coracle")
    filtered = {"GRPC_BINARY_LOG_FILTER": "*"}
    with Server(program, "server", f"guide_{api}", env=filtered | {"CORACLE_BINARY_LOG": logs["server"]}) as server:
        calling = run(program, "client", f"guide_{api}", server.port, env=filtered | {"CORACLE_BINARY_LOG": logs["client"]}, limit_s=LIMIT_S)
        assert calling.returncode == 0, calling.stderr
        assert f"calls are logged to {logs['client']}" in calling.stderr
        assert server.stop() == 0
    of_client, of_server = entries(logs["client"]), entries(logs["server"])
    begun = [collections.Counter(one["method"] for one in logged if one["event"] == "client_header") for logged in (of_client, of_server)]
    assert begun[0] == begun[1] and len(begun[0]) == 4, begun
    # A call that its client has cancelled may have ended otherwise on the server.
    assert collections.Counter() < outcomes(of_client, "client") <= outcomes(of_server, "server")
    # A stream that ends early has messages that the other side does not read.
    for event, sent, received in (("client_message", of_client, of_server), ("server_message", of_server, of_client)):
        assert collections.Counter() < payloads(received, event) <= payloads(sent, event)


def test_a_rule_chooses_methods_and_sizes(tmp_path):
    log = tmp_path / "calls-%p"
    program = own("programs_coracle")
    with Server(program, "server", "guide_sync", env={"GRPC_BINARY_LOG_FILTER": "*{h}", "CORACLE_BINARY_LOG": log}) as server:
        calling = run(program, "client", "guide_sync", server.port, env={"GRPC_BINARY_LOG_FILTER": ""}, limit_s=LIMIT_S)
        assert calling.returncode == 0, calling.stderr
        assert server.stop() == 0
        logged = entries(str(log).replace("%p", str(server.process.pid)))
    assert {one["data"] for one in logged if "data" in one} == {""} and any(one.get("length") for one in logged)


def test_a_program_whose_log_cannot_be_does_not_start(tmp_path):
    program = own("programs_coracle")
    for setting, reason in (({"GRPC_BINARY_LOG_FILTER": "*,a.B/c{x}", "CORACLE_BINARY_LOG": tmp_path / "log"},
                             "GRPC_BINARY_LOG_FILTER: the filter of the binary log is malformed at character 3"),
                            ({"GRPC_BINARY_LOG_FILTER": "*", "CORACLE_BINARY_LOG": tmp_path}, f"cannot open the binary log {tmp_path}")):
        for words in (("server", "guide_sync"), ("client", "guide_sync", "1")):
            done = run(program, *words, env=setting, limit_s=LIMIT_S)
            assert done.returncode == 1 and f"coracle::grpcpp: {reason}" in done.stderr, done.stderr
