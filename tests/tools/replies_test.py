"""coracle call, ls, health and proxy before replies that are unusual: what is printed of them, and the exit codes."""

import base64
import json
import pathlib
import socket
import tempfile

import programs
from frame_server import DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, frame, literal
from scripted_server import envelope, field, replies, scripted_server
from programs import Server, own, run

NO_ANSWER, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, FAILURE = 2, 4, 8, 12, 65
PROTO = """syntax = "proto3";
package odd;
import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto";
message Nothing {}
message Holder {
  google.protobuf.Any any = 1;
  int32 after = 2;
  repeated google.protobuf.Any more = 3;
  google.protobuf.Timestamp time = 4;
  map<string, int32> numbers = 5;
  repeated string names = 6;
  oneof one { int32 a = 7; string b = 8; }
  Holder inner = 9;
}
service Odd {
  rpc One(Nothing) returns (Holder);
  rpc Many(Nothing) returns (stream Holder);
}
"""
PREFIX = "type.googleapis.com/"


def coracle(*words, code=0):
    done = run(own("coracle"), *words)
    if code is not None:
        assert done.returncode == code, f"the exit code of {words[0]} ({done.stdout[-200:]!r}, {done.stderr.strip()[-300:]!r})"
    return done


def call(method, *messages, words=(), code=0):
    with tempfile.TemporaryDirectory() as folder, scripted_server(replies(*messages)) as server:
        proto = pathlib.Path(folder, "odd.proto")
        proto.write_text(PROTO)
        return coracle("call", server.address, "-p", method, "--proto", proto, "-d", "{}", *words, code=code)


def many(*messages, code=0):
    done = call("Many", *messages, code=code)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def packed(name, value):
    return field(1, PREFIX + name) + field(2, value)


def test_an_any_of_unknown_type_is_printed_and_the_stream_goes_on():
    odd = field(1, packed("acme.Unknown", b"\x08\x01\xff"))
    printed, said = many(field(2, 1), odd, field(3, packed("acme.Other", b"x")) + field(3, packed("odd.Holder", field(2, 5))), field(2, 3))
    assert said == "", "what is said on stderr"
    assert [one.get("after") for one in printed] == [1, None, None, 3], "the replies around it"
    assert printed[1]["any"]["@type"] == f"{PREFIX}acme.Unknown", "the type"
    assert base64.b64decode(printed[1]["any"]["@value"]) == b"\x08\x01\xff", "the bytes"
    assert "base64" in printed[1]["any"]["@error"], f"it says {printed[1]['any']}"
    assert printed[2]["more"][1] == {"@type": f"{PREFIX}odd.Holder", "after": 5}, "its neighbour"
    only = json.loads(call("One", odd).stdout)
    assert only == printed[1], "the same reply of a unary call"


def test_characters_that_reorder_text_are_escaped():
    name = "a\u2066b\u2069c\u202ed\u061c"
    one = field(6, name.encode())
    for text in (call("One", one).stdout, call("Many", one, one).stdout, call("One", one, words=("--format", "json")).stdout):
        assert not set("\u2066\u2069\u202e\u061c") & set(text), f"it prints {text!r}"
        assert json.loads(text.splitlines()[0] if "}\n{" in text else text)["names"] == [name]


def test_an_any_is_looked_into():
    inner = field(1, packed("acme.Unknown", b"\x07"))
    printed, said = many(field(1, packed("odd.Holder", inner + field(2, 4))), field(9, inner), field(1, b"" + field(2, b"\x01")))
    assert said == "", "what is said on stderr"
    assert (printed[0]["any"]["after"], printed[0]["any"]["any"]["@value"]) == (4, "Bw=="), "an Any inside of an Any"
    assert printed[1]["inner"]["any"]["@value"] == "Bw==", "an Any inside of a message"
    assert printed[2]["any"]["@value"] == "AQ==", "an Any without a type"


def test_anys_inside_of_anys_have_an_end():
    deep = b"\x01"
    for _ in range(3000):
        deep = packed("google.protobuf.Any", deep)
    done = call("Many", field(2, 1), field(1, deep), code=None)
    assert done.returncode in (0, FAILURE), f"it ends with {done.returncode}"
    assert json.loads(done.stdout.splitlines()[0]) == {"after": 1}, "the reply before it"


def test_a_reply_without_a_json_form_is_told_and_the_stream_goes_on():
    printed, said = many(field(2, 1), field(4, field(1, 1 << 60)), field(2, 3), b"\xff", field(2, 4), code=FAILURE)
    assert printed == [{"after": 1}, {"after": 3}, {"after": 4}], "the others"
    assert "cannot be written as JSON" in said and "a message of 1 bytes is not a valid odd.Holder" in said, f"it says {said!r}"
    assert "libprotobuf" not in said, f"it says {said!r}"
    done = call("One", b"\xff", code=FAILURE)
    assert done.stdout == "", "what is printed of no message"


def test_unusual_encodings_are_printed_as_they_are_parsed():
    """As protobuf's parser has them: alone, and in a row."""
    cases = ((field(6, "a") + field(2, 1) + field(6, "b"), {"names": ["a", "b"], "after": 1}),
             (field(2, 1) + field(2, 2), {"after": 2}), (field(2, 0), {}), (field(7, 1) + field(8, "x"), {"b": "x"}),
             (field(9, field(2, 1)) + field(9, field(6, "x")), {"inner": {"after": 1, "names": ["x"]}}),
             (field(5, field(1, "k") + field(2, 1)) + field(5, field(1, "k") + field(2, 2)), {"numbers": {"k": 2}}),
             (field(99, "unknown") + field(2, 1), {"after": 1}), (field(9, field(2, 0)), {"inner": {}}), (b"", {}),
             (field(6, "a,b]}\"\\") + field(6, "{"), {"names": ["a,b]}\"\\", "{"]}))
    for encoded, wanted in cases:
        assert many(encoded)[0] == [wanted], f"{encoded!r}"
    assert many(*(encoded for encoded, _ in cases))[0] == [wanted for _, wanted in cases], "all of them in a row"
    usual = [one for one in cases if one[1] in ({}, {"names": ["a,b]}\"\\", "{"]})]
    assert many(*(encoded for encoded, _ in 100 * usual))[0] == [wanted for _, wanted in 100 * usual], "many in a row"


def test_a_unary_call_prints_exactly_one_reply():
    done = call("One", field(2, 1), field(2, 2), code=UNIMPLEMENTED)
    assert done.stdout == "", "what is printed of two replies"
    assert "more than one reply" in done.stderr, f"it says {done.stderr!r}"
    done = call("One", code=UNIMPLEMENTED)
    assert "no reply" in done.stderr, f"it says {done.stderr!r}"
    assert call("One", field(2, 1)).stdout == '{\n  "after": 1\n}\n', "one reply"
    assert call("One", field(9, field(6, "  x"))).stdout == '{\n  "inner": {\n    "names": [\n      "  x"\n    ]\n  }\n}\n', "lines"


def test_replies_have_a_limit(tmp_path):
    reply = field(6, 100 * "x")
    done = call("One", reply, words=("--max-message-bytes", "50"), code=RESOURCE_EXHAUSTED)
    assert "--max-message-bytes" in done.stderr, f"it says {done.stderr!r}"
    call("One", reply, words=("--max-message-bytes", "1KiB"))
    for wrong in ("0", "-1", "4GiB", "many"):
        call("One", reply, words=("--max-message-bytes", wrong), code=64)

    def announces(size):
        return lambda request: b"" if request is None else bytes(1) + size.to_bytes(4, "big")
    with scripted_server(announces((4 << 20) + 1)) as server:
        proto = tmp_path / "odd.proto"
        proto.write_text(PROTO)
        coracle("call", server.address, "-p", "One", "--proto", proto, code=RESOURCE_EXHAUSTED)


def test_health_takes_a_kibibyte():
    for size, code in ((900, 0), (1100, NO_ANSWER)):
        with scripted_server(replies(field(1, 1) + field(15, size * "x"))) as server:
            coracle("health", server.address, "-p", code=code)


def test_a_line_end_in_a_services_name_makes_no_line():
    def listed(request):
        names = ("a.B\nevil.C", "b.\u200bC\x9b")
        return b"" if request is None else envelope(field(6, b"".join(field(1, field(1, one)) for one in names)))
    with scripted_server(listed) as server:
        lines = coracle("ls", server.address, "-p").stdout.splitlines()
    assert lines == ["a.B?evil.C", "b.?C?"], "what is listed"


def test_a_deadline_that_passes_during_reflection_is_the_exit_code():
    for words in (("ls",), ("describe",), ("call", "odd.Odd/One")):
        with scripted_server(lambda request: b"") as server:
            coracle(words[0], server.address, "-p", *words[1:], "--timeout", "300ms", code=DEADLINE_EXCEEDED)


def test_the_repl_prints_exactly_one_reply_of_a_unary_call(tmp_path):
    with scripted_server(replies(field(2, 1), field(2, 2))) as server:
        proto = tmp_path / "odd.proto"
        proto.write_text(PROTO)
        done = run(own("coracle"), "repl", server.address, "-p", "--proto", proto, data="call One {}\n")
    assert (done.returncode, done.stdout) == (UNIMPLEMENTED, ""), f"what comes of two replies ({done.stderr!r})"


def test_the_proxy_shows_and_records_a_call_whose_names_are_no_utf_8(tmp_path):
    with Server(own("greeter_server"), "127.0.0.1:0") as server:
        file = tmp_path / "calls.jsonl"
        with Server(own("coracle"), "proxy", server.address, "-p", "--record", file) as proxy, \
                socket.create_connection(("127.0.0.1", proxy.port), timeout=programs.STOP_LIMIT_S) as connection:
            block = b"".join(literal(name, value) for name, value in (
                (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/helloworld.Greeter/SayHello"), (b":authority", b"x"),
                (b"content-type", b"application/grpc+\xff\xfe"), (b"te", b"trailers")))
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, block)
                               + frame(DATA, END_STREAM, 1, envelope(field(1, "Ada"))))
            stream = connection.makefile("rb")
            while head := stream.read(9):
                stream.read(int.from_bytes(head[:3], "big"))
                if head[3] == HEADERS and head[4] & END_STREAM:
                    break
            assert head, "the call has no end"
            call = run(own("coracle"), "call", proxy.address, "-p", "SayHello", "--proto", programs.ROOT / "examples/01_greeter/greeter.proto",
                       "-d", '{"name": "Eve"}')
            assert call.returncode == 0, f"the exit code of the next call ({call.stderr[-300:]})"
            assert proxy.stop() == 0, "the proxy's exit code"
            assert any("#1 /helloworld.Greeter/SayHello from" in line for line in proxy.said), f"it prints {proxy.said}"
        events = [json.loads(line) for line in file.read_text().splitlines()]
        assert base64.b64decode(events[0]["subtype_base64"]) == b"\xff\xfe", "the subtype in the recording"
        assert sum("method" in one for one in events) == 2, "the calls in the recording"
        done = run(own("coracle"), "replay", server.address, "-p", file, "--speed", "0")
        assert "2 calls" in done.stdout, f"replay says {done.stdout!r} {done.stderr!r}"
