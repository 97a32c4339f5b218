"""coracle frames: recordings of real calls, after crashes, as text, JSON and captures that tshark reads; damaged recordings."""

import json
import pathlib
import random
import re
import shutil
import signal
import subprocess

import pytest

from coracle_command import FAILURE, coracle
from programs import Background, LISTENING, START_LIMIT_S, own, run

METHOD = "/movie.MovieService/AddMovie"


def recorded(folder, end, calls=('{"title": "Alien"}', '{"title": "Heat"}', "{}")):
    """The file that a movie_server has written when it got the signal, after some calls, and its port."""
    file = folder / "movies-%p.rec"
    with Background(own("movie_server"), "--port=0", env={"CORACLE_RECORDING": str(file)}) as server:
        port = server.wait_for(LISTENING, START_LIMIT_S)[1]
        for request in calls:
            run(own("coracle"), "call", f"127.0.0.1:{port}", "-p", "AddMovie", "-d", request)
        run(own("coracle"), "call", f"127.0.0.1:{port}", "-p", "ListMovies", "-d", "{}")
        server.process.send_signal(end)
        server.process.wait(START_LIMIT_S)
        assert server.process.returncode == -end
        assert "coracle: wrote a recording: " + str(file).replace("%p", str(server.process.pid)) in server.all_said()
        return pathlib.Path(str(file).replace("%p", str(server.process.pid))), port


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("recording"), signal.SIGABRT)


def listed(file, *options):
    return coracle("frames", file, *options).stdout


def test_a_crash_leaves_the_frames_of_its_calls(recording):
    file, _ = recording
    text = listed(file)
    assert f"after signal {int(signal.SIGABRT)}" in text.splitlines()[0]
    assert len(re.findall(rf"<- HEADERS .*{METHOD}", text)) == 3, text
    assert len(re.findall(rf" ended .* OK {METHOD}", text)) + len(re.findall(rf" ended .*{METHOD}", text)) >= 3, text
    assert "as server" in text and "SETTINGS" in text


def test_a_fault_leaves_a_recording_too(tmp_path):
    file, _ = recorded(tmp_path, signal.SIGSEGV, ['{"title": "x"}'])
    assert METHOD in listed(file)


def test_filters_choose_by_method_connection_and_stream(recording):
    file, _ = recording
    all_events = [json.loads(line) for line in listed(file, "--format", "json").splitlines()]
    of_method = [json.loads(line) for line in listed(file, "--format", "json", "--method", "AddMovie").splitlines()]
    assert of_method == [e for e in all_events if e.get("method") == METHOD]
    number = of_method[0]["connection"]
    of_stream = [json.loads(line) for line in listed(file, "--format", "json", "--connection", str(number), "--stream", "1").splitlines()]
    assert of_stream == [e for e in all_events if e.get("connection") == number and e.get("stream") == 1]
    assert of_stream


@pytest.fixture(scope="module")
def packets(recording, tmp_path_factory):
    """What tshark finds in the capture: a dictionary of fields for each packet."""
    assert shutil.which("tshark"), "tshark is not installed (scripts/packages.txt)"
    file, port = recording
    capture = tmp_path_factory.mktemp("capture") / "movies.pcapng"
    hint = coracle("frames", file, "--pcapng", capture).stderr
    assert f"-d tcp.port=={port},http2" in hint
    fields = ["http2.type", "http2.headers.path", "http2.headers.status", "http2.header.value", "grpc.message_length", "frame.comment",
              "frame.time_epoch", "_ws.expert.severity", "_ws.col.Protocol", "tcp.port", "http2.streamid"]
    words = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(["tshark", "-r", capture, "-d", f"tcp.port=={port},http2", "--disable-protocol", "protobuf", "-T", "fields", *words], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return [dict(zip(fields, line.split("\t"))) for line in done.stdout.splitlines()]


def test_tshark_reads_the_frames_as_http2(packets):
    types = {t for p in packets for t in p["http2.type"].split(",")}
    assert {"0", "1", "4"} <= types, types  # DATA, HEADERS, SETTINGS
    assert not [p for p in packets if p["http2.type"] == "" and p["frame.comment"].find("closed") < 0], packets


def test_tshark_finds_the_methods_and_statuses(packets):
    assert [p["http2.headers.path"] for p in packets].count(METHOD) == 3
    assert any("grpc-status" not in p["http2.header.value"] and "0" in p["http2.header.value"].split(",") for p in packets)
    assert all(METHOD in p["frame.comment"] for p in packets if p["http2.headers.path"] == METHOD)


def test_tshark_finds_the_lengths_of_the_messages(packets):
    lengths = [n for p in packets for n in p["grpc.message_length"].split(",") if n]
    # {"title": "Alien"}, {"title": "Heat"} and {} as protobuf; then the replies and the streamed ones.
    assert {"7", "6", "0"} <= set(lengths), lengths
    assert any(p["_ws.col.Protocol"] == "GRPC" for p in packets)


def test_nothing_in_the_capture_is_malformed(packets):
    error = 8 << 20
    assert not [p for p in packets for s in p["_ws.expert.severity"].split(",") if s and int(s, 0) >= error]


def test_files_that_are_no_recordings_are_refused(tmp_path, recording):
    other = tmp_path / "other"
    for content in (b"", b"x", b"x" * 1000, recording[0].read_bytes()[:-1]):
        other.write_bytes(content)
        done = coracle("frames", other, code=FAILURE)
        assert "recording" in done.stderr and done.stderr.count("\n") <= 2, done.stderr
    assert "cannot open" in coracle("frames", tmp_path / "none", code=FAILURE).stderr


def test_flipped_bytes_end_with_a_list_or_an_error(tmp_path, recording):
    whole, chance = recording[0].read_bytes(), random.Random(7)
    other = tmp_path / "flipped"
    for _ in range(30):
        content = bytearray(whole)
        for _ in range(20):
            content[chance.randrange(len(content))] = chance.randrange(256)
        other.write_bytes(content)
        for options in ([], ["--format", "json"], ["--pcapng", tmp_path / "capture"]):
            done = subprocess.run([own("coracle"), "frames", other, *options], capture_output=True, timeout=60)
            assert done.returncode in (0, FAILURE), (done.returncode, done.stderr)
