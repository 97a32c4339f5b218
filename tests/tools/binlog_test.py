"""coracle binlog: the log of real calls as text and as JSON; filters; damaged logs."""

import base64
import json
import re

import pytest

from coracle_command import FAILURE, coracle
from programs import Server, own

EVENTS = ["client_header", "client_message", "client_half_close", "server_header", "server_message", "server_trailer"]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of calls of observed_server to itself, which it has written before it listens."""
    path = tmp_path_factory.mktemp("log") / "calls.binlog"
    with Server(own("observed_server"), path, env={"GRPC_BINARY_LOG_FILTER": "*"}):
        return path


def entries(log, *options):
    return [json.loads(line) for line in coracle("binlog", log, "--format", "json", *options).stdout.splitlines()]


def test_a_call_is_printed_from_its_headers_to_its_status(log):
    lines = coracle("binlog", log, "--method", "Echo/Say").stdout.splitlines()
    assert lines[0].split() == ["time", "call", "seq", "logger", "event", "length", "details"]
    of_server = [line for line in lines if " server " in line]
    assert [line.split()[5] for line in of_server] == EVENTS
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}"
    assert re.fullmatch(time + r" +\d+ +1 server client_header +/echo\.Echo/Say authority 127\.0\.0\.1:\d+ timeout [\d.]+ s peer 127\.0\.0\.1:\d+",
                        of_server[0]), of_server[0]
    assert re.fullmatch(time + r" +\d+ +2 server client_message +7 /echo\.Echo/Say", of_server[1]), of_server[1]
    assert of_server[-1].endswith("/echo.Echo/Say OK")
    headers = lines[lines.index(of_server[0]) + 1:][:2]
    assert sorted(headers) == ["    x-team-bin: AP8=", "    x-user: ada"]
    (failed,) = [line for line in coracle("binlog", log, "--method", "Misbehave").stdout.splitlines() if "server server_trailer" in line]
    assert "/echo.Echo/Misbehave NOT_FOUND: no such name \u00fc 100%" in failed


def test_json_has_the_bytes_of_messages(log):
    of_call = entries(log, "--method", "Say")
    assert {one["logger"] for one in of_call} == {"client", "server"}
    header, message, *_, trailer = [one for one in of_call if one["logger"] == "client"]
    assert sorted(header["metadata"]) == [["x-team-bin", "AP8="], ["x-user", "ada"]]
    assert 50 < header["timeout_s"] <= 60
    assert (message["event"], message["length"], base64.b64decode(message["data"])) == ("client_message", 7, b"\x0a\x05hello")
    assert (trailer["event"], trailer["status"], trailer["method"]) == ("server_trailer", "OK", "/echo.Echo/Say")


def test_filters_choose_by_call_and_method(log):
    everything = entries(log)
    number = everything[0]["call"]
    assert entries(log, "--call", str(number)) == [one for one in everything if one["call"] == number]
    assert entries(log, "--method", "Repeat") == [one for one in everything if "Repeat" in one["method"]] != []
    assert entries(log, "--method", "Nothing") == []


def test_a_damaged_log_is_printed_up_to_there(log, tmp_path):
    content, damaged = log.read_bytes(), tmp_path / "damaged"
    second = 4 + int.from_bytes(content[:4], "big")
    for rest, reason in ((content[second:second + 3], "the file ends within a length"), (content[second:second + 10], "of which 6 are there"),
                         (b"\xff\xff\xff\xff" + bytes(8), "a length of 4294967295 bytes, of which 8 are there"),
                         (b"\0\0\0\x02\xff\xff", "it does not parse")):
        damaged.write_bytes(content[:second] + rest)
        done = coracle("binlog", damaged, "--format", "json", code=FAILURE)
        assert len(done.stdout.splitlines()) == 1
        assert "is no binary log from entry 2 on: " in done.stderr and reason in done.stderr
    assert "cannot open" in coracle("binlog", tmp_path / "none", code=FAILURE).stderr
    assert "no regular file" in coracle("binlog", tmp_path, code=FAILURE).stderr
    damaged.write_bytes(b"")
    assert len(coracle("binlog", damaged).stdout.splitlines()) == 1


def test_what_moves_the_cursor_is_not_printed(tmp_path):
    # type 1, client, a header with the method "/a\x1b[2J" and a pair "k": "\x1b[2J", at the end of time.
    method, pair = b"\x12\x06/a\x1b[2J", b"\x0a\x0b\x0a\x09\x0a\x01k\x12\x04\x1b[2J"
    header = pair + method
    entry = b"\x0a\x0a\x08" + b"\xff" * 8 + b"\x7f" + b"\x10\x05\x20\x01\x28\x01\x32" + bytes([len(header)]) + header
    path = tmp_path / "log"
    path.write_bytes(len(entry).to_bytes(4, "big") + entry)
    text = coracle("binlog", path).stdout
    assert "\x1b" not in text and "/a?[2J" in text and "    k: ?[2J" in text and "(invalid time)" in text, text
    assert entries(path)[0]["metadata"] == [["k", "\x1b[2J"]]
