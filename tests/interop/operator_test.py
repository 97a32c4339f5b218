"""What grpc-go's definitions read in our channelz, asked as grpcdebug asks, and in our binary logs."""

import base64
import json

import pytest

from programs import Server, own, peer, run

FILTER = "*,-grpc.channelz.v1.Channelz/GetServers,grpc.channelz.v1.Channelz/*{h:0;m:0}"


def rows(*arguments):
    done = run(peer("operator"), *arguments)
    assert done.returncode == 0, done.stderr.strip()
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "calls.binlog"


@pytest.fixture(scope="module")
def server(log):
    with Server(own("observed_server"), log, env={"GRPC_BINARY_LOG_FILTER": FILTER}) as server:
        yield server


@pytest.fixture(scope="module")
def shown(server):
    """The rows of channelz by kind."""
    kinds = {}
    for row in rows("channelz", server.address):
        for kind, content in row.items():
            kinds.setdefault(kind, []).append(content)
    return kinds


def test_the_server_has_its_address_calls_and_trace(shown, server):
    (one,) = shown["server"]
    assert int(one["data"]["calls_succeeded"]) >= 2
    assert one["data"]["calls_failed"] == "1"
    assert one["data"]["last_call_started_timestamp"]
    assert [ref["name"] for ref in one["listen_socket"]] == [server.address]
    trace = one["data"]["trace"]
    assert trace["creation_timestamp"]
    assert [event["description"] for event in trace["events"]] == [f"listening on {server.address}"]
    assert [event["severity"] for event in trace["events"]] == ["CT_INFO"]


def test_the_channel_has_its_subchannel_and_events(shown, server):
    (one,) = shown["channel"]
    data = one["data"]
    assert data["target"] == server.address
    assert data["state"] == {"state": "READY"}
    assert (data["calls_started"], data["calls_succeeded"], data["calls_failed"]) == ("3", "2", "1")
    assert data["max_connections_per_subchannel"] == 1
    events = data["trace"]["events"]
    assert int(data["trace"]["num_events_logged"]) == len(events)
    (created,) = [event for event in events if "subchannel_ref" in event]
    assert created["subchannel_ref"]["subchannel_id"] == one["subchannel_ref"][0]["subchannel_id"]


def test_the_subchannel_has_its_socket_and_last_call(shown, server):
    (one,) = shown["subchannel"]
    assert one["data"]["target"] == server.address
    assert one["data"]["last_call_started_timestamp"]
    assert len(one["socket_ref"]) == 1


def test_each_socket_has_its_numbers_windows_and_options(shown, server):
    assert len(shown["socket"]) == 4  # listening, grpc-go's, and both ends of ours
    ids = [socket["ref"]["socket_id"] for socket in shown["socket"]]
    assert len(set(ids)) == len(ids)
    for socket in shown["socket"]:
        data = socket["data"]
        options = {option["name"]: option for option in data["option"]}
        assert {"SO_LINGER", "SO_RCVTIMEO", "SO_SNDTIMEO", "TCP_INFO"} <= set(options)
        assert options["SO_LINGER"]["additional"]["@type"].endswith("grpc.channelz.v1.SocketOptionLinger")
        assert options["TCP_INFO"]["additional"]["@type"].endswith("grpc.channelz.v1.SocketOptionTcpInfo")
        port = socket["local"]["tcpip_address"]["port"]
        assert base64.b64decode(socket["local"]["tcpip_address"]["ip_address"]) == b"\x7f\0\0\1"
        if socket["remote"] is None:
            assert port == server.port
            assert options["TCP_INFO"]["additional"]["tcpi_state"] == 10, "LISTEN"
            continue
        assert options["TCP_INFO"]["additional"]["tcpi_state"] == 1, "ESTABLISHED"
        assert int(data["streams_started"]) > 0
        assert int(data["local_flow_control_window"]) > 0
        assert int(data["remote_flow_control_window"]) > 0
        created = "remote" if port == server.port else "local"
        assert data[f"last_{created}_stream_created_timestamp"]
        if created == "local":
            assert data["peer_max_concurrent_streams"] > 0


TYPES = {"Say": ["CLIENT_HEADER", "CLIENT_MESSAGE", "CLIENT_HALF_CLOSE", "SERVER_HEADER", "SERVER_MESSAGE", "SERVER_TRAILER"],
         "Misbehave": ["CLIENT_HEADER", "CLIENT_MESSAGE", "CLIENT_HALF_CLOSE", "SERVER_TRAILER"],
         "Repeat": ["CLIENT_HEADER", "CLIENT_MESSAGE", "CLIENT_HALF_CLOSE", "SERVER_HEADER", "SERVER_MESSAGE", "SERVER_MESSAGE",
                    "SERVER_MESSAGE", "SERVER_TRAILER"]}


def test_grpc_go_reads_the_binary_log(server, log):
    calls = {}
    for row in rows("binlog", log):
        entry = row["entry"]
        calls.setdefault((entry["logger"], entry["call_id"]), []).append(entry)
    seen = {}
    for (logger, _), entries in calls.items():
        assert [entry["sequence_id_within_call"] for entry in entries] == [str(n + 1) for n in range(len(entries))]
        method = entries[0]["client_header"]["method_name"]
        if method.startswith("/echo.Echo/"):
            seen[logger, method.rpartition("/")[2]] = entries
    for logger in ("LOGGER_CLIENT", "LOGGER_SERVER"):
        for method, types in TYPES.items():
            assert [entry["type"].removeprefix("EVENT_TYPE_") for entry in seen[logger, method]] == types, (logger, method)
        header, message, _, first, *_ = seen[logger, "Say"]
        assert 50 < float(header["client_header"]["timeout"].removesuffix("s")) <= 60
        assert {one["key"]: base64.b64decode(one["value"]) for one in header["client_header"]["metadata"]["entry"]} == \
            {"x-user": b"ada", "x-team-bin": b"\0\xff"}
        assert base64.b64decode(message["message"]["data"]) == b"\x0a\x05hello"
        with_peer = first if logger == "LOGGER_CLIENT" else header
        assert (with_peer["peer"]["type"], with_peer["peer"]["address"]) == ("TYPE_IPV4", "127.0.0.1")
        trailer = seen[logger, "Misbehave"][-1]["trailer"]
        assert (trailer["status_code"], trailer["status_message"]) == (5, "no such name \u00fc 100%")
    assert {entry["type"] for entries in calls.values() for entry in entries} <= {f"EVENT_TYPE_{one}" for one in TYPES["Repeat"]}


def test_a_program_with_a_malformed_filter_does_not_start(tmp_path):
    done = run(own("observed_server"), tmp_path / "log", env={"GRPC_BINARY_LOG_FILTER": "*,echo.Echo/Say{x}"})
    assert done.returncode == 1
    assert "GRPC_BINARY_LOG_FILTER: the filter of the binary log is malformed at character 3" in done.stderr
