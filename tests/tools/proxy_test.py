"""coracle proxy between our movie client and server: what it prints and records; coracle replay makes the calls again."""

import json
import os
import re
import stat
import time

import pytest

import programs
from programs import Server, own, run

SERVICE = "movie.MovieService"
GREETER_PROTO = programs.ROOT / "examples/01_greeter/greeter.proto"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A run of the movie client through a proxy: what the proxy printed, and its recording."""
    path = tmp_path_factory.mktemp("proxy") / "calls.jsonl"
    with Server(own("movie_server"), "--port=0") as server:
        with Server(own("coracle"), "proxy", server.address, "-p", "--record", path) as proxy:
            done = run(own("movie_client"), proxy.address)
            assert done.returncode == 0, f"the client's exit code ({done.stderr.strip()[-300:]})"
            failed = run(own("coracle"), "call", proxy.address, "-p", "AddMovie")
            assert failed.returncode == 3, "the exit code of a call through the proxy"
            assert proxy.stop() == 0, "the proxy's exit code"
            return proxy.said, path


@pytest.fixture
def said(recording):
    return recording[0]


@pytest.fixture
def file(recording):
    return recording[1]


def test_calls_pass_through(said, file):
    assert said and file.stat().st_size > 0


def test_calls_are_printed(said):
    text = "\n".join(said)
    for method in ("AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether"):
        assert f"/{SERVICE}/{method} from 127.0.0.1:" in text, f"{method} is missing in {text[-600:]!r}"
    assert re.search(r'#\d+ > \{"title":', text), "no request is printed as JSON"
    assert re.search(r'#\d+ < \{"movieId":', text), "no reply is printed as JSON"
    assert "INVALID_ARGUMENT: " in text, "the failed call's end is not printed"


def test_a_replay_makes_the_same_calls(said, file):
    began = len(re.findall(r" from 127\.0\.0\.1:", "\n".join(said)))
    with Server(own("movie_server"), "--port=0") as server:
        done = run(own("coracle"), "replay", server.address, "-p", file, "--speed", "0")
        counted = re.fullmatch(r"replayed (\d+) calls: all (\d+) statuses match, all (\d+) replies match\n", done.stdout)
        assert counted and int(counted[1]) == int(counted[2]) == began, f"it says {done.stdout!r} {done.stderr!r}, there were {began}"
        assert int(counted[3]) == sum('"reply"' in line for line in file.read_text().splitlines()), "the replies that were compared"
        assert done.returncode == 0, f"the exit code ({done.stderr[-300:]})"
        shelf = run(own("coracle"), "call", server.address, "-p", "ListMovies").stdout.count('"title"')
        assert shelf > 2, f"the shelf of the other server has {shelf} movies"


def test_a_replay_tells_what_ends_otherwise(file):
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        done = run(own("coracle"), "replay", server.address, "-p", file, "--speed", "0")
        assert done.returncode == 66, "the exit code"
        assert "UNIMPLEMENTED" in done.stderr and "recorded was OK" in done.stderr, f"it says {done.stderr!r}"


def test_a_replay_compares_replies(file):
    """The same server has the movies already: the new ones get other numbers, and the shelf has more."""
    recorded = file.with_name("replies.jsonl")
    add = ("-p", "AddMovie", "-d", '{"title": "Ran"}')
    with Server(own("movie_server"), "--port=0") as server:
        with Server(own("coracle"), "proxy", server.address, "-p", "--record", recorded) as proxy:
            assert run(own("coracle"), "call", proxy.address, *add).returncode == 0
        words = (own("coracle"), "replay", server.address, "-p", recorded, "--speed", "0")
        done = run(*words)
        assert (done.returncode, done.stdout) == (66, "replayed 1 call: 1 status matches, 1 of 1 reply differs\n"), done
        assert done.stderr == f'#1 /{SERVICE}/AddMovie: reply 1 differs:\n  modified: movie_id: "1" -> "2"\n'
        for name in ("movie_id", "movieId", "AddMovieResponse.movie_id"):
            done = run(*words, "--ignore", name)
            assert (done.returncode, done.stderr) == (0, ""), done
            assert done.stdout == f"replayed 1 call: 1 status matches, 1 reply matches without {name}\n"
        assert "no reply that differs has a field 'movi' (--ignore)" in run(*words, "--ignore", "movi").stderr
        done = run(*words, "--status-only")
        assert (done.returncode, done.stdout) == (0, "replayed 1 call: 1 status matches; replies were not compared\n"), done


def test_replies_without_definitions_are_compared_in_bytes(file):
    recorded = file.with_name("bytes.jsonl")
    call = {"call": 1, "ms": 0, "method": "/helloworld.Greeter/SayHello"}
    recorded.write_text("".join(json.dumps(one) + "\n" for one in (call, {"call": 1, "ms": 0, "request": "CgNBZGE="}, {"call": 1, "ms": 1, "reply": "CgE="},
                                                                  {"call": 1, "ms": 1, "status": 0})))
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        done = run(own("coracle"), "replay", server.address, "-p", recorded)
        assert (done.returncode, done.stderr) == (66, "#1 /helloworld.Greeter/SayHello: reply 1 differs:\n  its bytes differ\n"), done
        assert "1 of 1 reply differs; those of /helloworld.Greeter/SayHello in bytes, because their definition is not available" in done.stdout


def test_a_replay_takes_its_time(file):
    """At twice the speed it takes at least half of the time between the recorded requests."""
    slow = file.with_name("slow.jsonl")
    with Server(own("movie_server"), "--port=0") as server:
        with Server(own("coracle"), "proxy", server.address, "-p", "--record", slow) as proxy:
            script = f"""(echo '{{"title": "a"}}'; sleep 0.6; echo '{{"title": "b"}}') | {own("coracle")} call {proxy.address} -p AddMultipleMovies"""
            assert run("bash", "-c", script).returncode == 0, "the exit code of a call with a pause"
        began = time.monotonic()
        done = run(own("coracle"), "replay", server.address, "-p", slow, "--speed", "2", "--ignore", "movie_ids")
        assert done.returncode == 0, f"the exit code ({done.stderr[-300:]})"
        took = time.monotonic() - began
    sent = [event["ms"] for event in map(json.loads, slow.read_text().splitlines()) if "request" in event]
    assert sent[-1] - sent[0] > 100, f"the requests were recorded at {sent} ms"
    assert took * 1000 > (sent[-1] - sent[0]) / 2 - 1, "it made no pause"
    refused = run(own("coracle"), "replay", server.address, "-p", slow, "--speed", "nan")
    assert refused.returncode == 64, "the exit code for no speed"


def test_a_recording_is_its_owners_and_never_overwrites(file):
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600, "the recording's mode"
    before = file.read_text()
    done = run(own("coracle"), "proxy", "127.0.0.1:1", "-p", "--record", file)
    assert done.returncode == 65, "the exit code"
    assert "File exists" in done.stderr, f"it says {done.stderr!r}"
    assert file.read_text() == before, "the recording afterwards"


def test_calls_pass_on_when_the_recording_cannot(file):
    """A limit of one block to files stands for a full disk."""
    small = file.with_name("small.jsonl")
    command = f"trap '' XFSZ; ulimit -f 1; exec {own('coracle')} proxy $0 -p --record {small}"
    with Server(own("movie_server"), "--port=0") as server, Server("bash", "-c", command, server.address) as proxy:
        for _ in range(2):
            done = run(own("coracle"), "call", proxy.address, "-p", "AddMovie", "-d", '{"title": "' + 2000 * "x" + '"}')
            assert done.returncode == 0, f"the exit code of a call ({done.stderr[-300:]})"
        assert proxy.stop() == 65, "the proxy's exit code"
        assert sum("no longer recorded" in line for line in proxy.said) == 1, "how often it says so"


def test_a_socket_of_unix_will_do(file):
    where = f"unix:{file.with_name('front')}"
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        with programs.Background(own("coracle"), "proxy", server.address, "-p", "--listen", where) as proxy:
            proxy.wait_for(re.compile(rf"listening on {re.escape(where)}, for "), programs.START_LIMIT_S)
            done = run(own("coracle"), "call", where, "-p", "SayHello", "--proto", GREETER_PROTO, "-d", '{"name": "Ada"}')
            assert done.returncode == 0, f"the exit code ({done.stderr[-300:]})"
            assert "Hello, Ada" in done.stdout, f"it prints {done.stdout!r}"


def test_a_file_that_is_no_recording_is_named(file):
    broken = file.with_name("broken.jsonl")
    broken.write_text(file.read_text().splitlines()[0] + "\nnonsense\n")
    done = run(own("coracle"), "replay", "127.0.0.1:1", "-p", broken)
    assert done.returncode == 65, "the exit code"
    assert f"{broken}:2: this is not a line of a recording" in done.stderr, f"it says {done.stderr!r}"


def test_a_hostile_recording_is_refused_or_bounded(file):
    hostile = file.with_name("hostile.jsonl")
    call = {"call": 1, "ms": 0, "method": "/greeter.Greeter/SayHello"}
    refused = ({**call, "call": 1.5}, {**call, "call": 1e300}, {**call, "call": -1}, {"call": 1, "ms": 0, "status": 1e300},
               {"call": 1, "ms": 0, "status": 17}, {"call": 1, "ms": 0, "status": -1}, {"call": 1, "ms": 0, "status": 0.5})
    for line in refused:
        hostile.write_text(json.dumps(call) + "\n" + json.dumps(line) + "\n")
        done = run(own("coracle"), "replay", "127.0.0.1:1", "-p", hostile)
        assert done.returncode == 65, f"the exit code of {line}"
        assert f"{hostile}:2: this is not a line of a recording" in done.stderr, f"of {line} it says {done.stderr!r}"
    # These are bounded: 1e300 ms are as good as forever, and a time before the beginning is the beginning.
    for begun in ({**call, "timeout_ms": 1e300}, {**call, "timeout_ms": 0}, {**call, "timeout_ms": -1e300}, {**call, "ms": -1e300},
                  {**call, "ms": 1e300}):
        hostile.write_text(json.dumps(begun) + "\n" + json.dumps({"call": 1, "ms": 1e300, "status": 14}) + "\n")
        for speed in ("0", "1e-300", "1e300"):
            done = run(own("coracle"), "replay", "127.0.0.1:1", "-p", hostile, "--speed", speed)
            past = "timeout_ms" in begun and begun["timeout_ms"] <= 0  # its deadline has passed
            assert done.returncode == (66 if past else 0), f"the exit code of {begun} at {speed} ({done.stderr.strip()})"


def test_a_server_without_definitions_is_told_in_bytes():
    with Server(own("greeter_server"), "127.0.0.1:0") as server, \
            Server(own("coracle"), "proxy", server.address, "-p") as proxy:
        for _ in range(2):
            done = run(own("greeter_client"), proxy.address)
            assert done.returncode == 0, f"the client's exit code ({done.stderr.strip()[-300:]})"
        assert proxy.stop() == 0, "the proxy's exit code"
        assert any(re.search(r"#1 > \d+ bytes$", line) for line in proxy.said), f"it prints {proxy.said}"


def test_definitions_are_told_by_their_files():
    with Server(own("movie_server"), "--port=0") as server, Server(own("coracle"), "proxy", server.address, "-p", "--reflection") as proxy:
        done = run(own("coracle"), "describe", proxy.address, "-p", f"{SERVICE}/AddMovie")
        assert done.returncode == 0, f"the exit code ({done.stderr.strip()[-300:]})"
        assert proxy.stop() == 0, "the proxy's exit code"
        assert any(re.search(r"#\d+ < definitions of \d+ bytes: movie.proto", line) for line in proxy.said), \
            f"it prints {proxy.said}"
        assert not any("fileDescriptorProto" in line for line in proxy.said), f"it prints {proxy.said}"


def test_reflection_is_neither_printed_nor_recorded(said, file):
    assert not any("reflection" in line for line in said), f"it prints {said}"
    assert "reflection" not in file.read_text()
    numbers = [int(one) for one in re.findall(r"#(\d+) /", "\n".join(said))]
    assert numbers == list(range(1, len(numbers) + 1)), "the numbers of the calls"
