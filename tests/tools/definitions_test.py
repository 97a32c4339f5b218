"""coracle describe: templates of requests, and definitions that are written into files."""

import json

import pytest

from coracle_command import FAILURE, USAGE, call, coracle
from programs import MOVIE_PROTO, Server, own, run

SHAPES = """syntax = "proto3";
package shapes;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Color { RED = 0; BLUE = 1; }
message Part { string name = 1; Node root = 2; }
message Node { int32 value = 1; Node next = 2; repeated Node children = 3; }
message Shape {
  string title = 1;
  optional int64 size = 2;
  repeated double points = 3;
  Color color = 4;
  bytes raw = 5;
  Part part = 6;
  map<string, Part> parts = 7;
  oneof position { string place = 8; int32 index = 9; }
  google.protobuf.Timestamp at = 10;
  google.protobuf.Duration lasts = 11;
  google.protobuf.FieldMask mask = 12;
  google.protobuf.Struct extra = 13;
  google.protobuf.Value any_json = 14;
  google.protobuf.Any any = 15;
  google.protobuf.StringValue maybe = 16;
  bool done = 17;
}
service Shapes { rpc Draw(Shape) returns (Shape); }
"""


@pytest.fixture
def shapes(tmp_path):
    path = tmp_path / "shapes.proto"
    path.write_text(SHAPES)
    return path


def test_a_template_has_every_field_in_its_json_form(shapes):
    done = coracle("describe", "--proto", shapes, "Draw", "--template")
    part = {"name": "", "root": {"value": 0, "children": []}}
    assert json.loads(done.stdout) == {
        "title": "", "size": "0", "points": [0], "color": "RED", "raw": "", "part": part, "parts": {"": part},
        "place": "", "at": "1970-01-01T00:00:00Z", "lasts": "0s", "mask": "", "extra": {}, "anyJson": None,
        "maybe": "", "done": False}
    assert done.stdout.startswith('{\n  "title": ""'), "the indentation"
    assert done.stderr == "coracle: shapes.Shape: at most one of place, index\n", "the note about the oneof"


def test_a_template_is_a_valid_request(movie_server):
    template = coracle("describe", movie_server.address, "-p", "AddMovie", "--template").stdout
    request = json.loads(template)
    request["title"] = "Alien"
    assert "movieId" in json.loads(call(movie_server, "AddMovie", "-d", json.dumps(request)).stdout)


def test_a_template_of_a_message_needs_only_the_end_of_its_name(shapes):
    assert json.loads(coracle("describe", "--proto", shapes, "Part", "--template").stdout)["name"] == ""
    assert "NAME" in coracle("describe", "--proto", shapes, "--template", code=USAGE).stderr
    assert "there is no method Nothing" in coracle("describe", "--proto", shapes, "Nothing", "--template", code=FAILURE).stderr


def test_describe_finds_a_message_by_the_end_of_its_name(shapes):
    assert "message Node {" in coracle("describe", "--proto", shapes, "Node").stdout


def test_a_descriptor_set_of_a_server_serves_in_its_place(movie_server, tmp_path):
    written = tmp_path / "movie.protoset"
    for _ in range(2):  # an existing file is replaced
        assert coracle("describe", movie_server.address, "-p", "movie.MovieService", "--protoset-out", written).stdout == ""
    assert coracle("ls", "--protoset", written).stdout == "movie.MovieService\n"
    request = '{"title": "From a set"}'
    assert "movieId" in coracle("call", movie_server.address, "-p", "--protoset", written, "AddMovie", "-d", request).stdout


def test_proto_files_of_a_server_compile(movie_server, tmp_path):
    folder = tmp_path / "definitions"
    coracle("describe", movie_server.address, "-p", "--proto-out", folder)
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.proto"))
    assert "movie.proto" in files and "grpc/health/v1/health.proto" in files, "what was written"
    done = run("protoc", f"-I{folder}", f"--descriptor_set_out={tmp_path / 'set'}", *files)
    assert done.returncode == 0, done.stderr
    assert coracle("ls", "-I", folder, "--proto", "movie.proto").stdout == "movie.MovieService\n"
    again = coracle("describe", movie_server.address, "-p", "--proto-out", folder, code=FAILURE)
    assert "File exists" in again.stderr, "files are not overwritten"


@pytest.mark.parametrize("name", ["../outside.proto", "/tmp/coracle_outside.proto", "a/../../outside.proto", "a//b.proto"])
def test_no_file_is_written_outside_the_folder(tmp_path, name):
    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content
    file = field(1, name.encode()) + field(2, b"p") + field(6, field(1, b"S")) + field(12, b"proto3")
    hostile = tmp_path / "hostile.protoset"
    hostile.write_bytes(field(1, file))
    done = coracle("describe", "--protoset", hostile, "--proto-out", tmp_path / "folder", code=FAILURE)
    assert "would not be written below" in done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["hostile.protoset"], "what is left"


def test_headers_for_reflection_are_sent_with_no_other_call(movie_server, tmp_path):
    recording = tmp_path / "calls.jsonl"
    with Server(own("coracle"), "proxy", movie_server.address, "-p", "--listen", "127.0.0.1:0", "--record", recording, "--reflection") as proxy:
        coracle("call", proxy.address, "-p", "ListMovies", "--reflect-header", "x-token: 1", "-H", "x-all: 2")
    calls = [json.loads(line) for line in recording.read_text().splitlines()]
    with_token = {one.get("call") for one in calls if "x-token" in json.dumps(one)}
    of_method = {one.get("call") for one in calls if "ListMovies" in json.dumps(one)}
    assert with_token and of_method and not with_token & of_method, "the calls with the header of reflection"


RULES = """syntax = "proto3";
package rules;
import "google/api/annotations.proto";
message Note { string name = 1; }
service Notes {
  rpc Get(Note) returns (Note) { option (google.api.http) = { get: "/notes/{name}" }; }
  rpc Find(Note) returns (Note) {
    option (google.api.http) = { get: "/found/{nothing}" additional_bindings { get: "/found" } };
  }
}
"""


def test_openapi_leaves_out_the_route_of_an_invalid_rule(tmp_path):
    path = tmp_path / "rules.proto"
    path.write_text(RULES)
    done = coracle("openapi", "--proto", path, "--rest-only")
    assert sorted(json.loads(done.stdout)["paths"]) == ["/found", "/notes/{name}"]
    assert "coracle: warning: " in done.stderr and "rules.Notes.Find" in done.stderr and "nothing" in done.stderr
    rules = tmp_path / "rules.json"
    rules.write_text("{")
    done = coracle("openapi", "--proto", path, "--http-rules", rules, code=FAILURE)
    assert done.stdout == "" and "JSON" in done.stderr


def test_a_document_of_openapi_replaces_a_file_only_by_force(tmp_path):
    output = tmp_path / "api.json"
    words = ("openapi", "--proto", MOVIE_PROTO, "-o", output)
    coracle(*words)
    document = output.read_text()
    output.write_text("mine")
    assert coracle(*words, code=FAILURE).stderr == f"coracle: error: {output} exists; choose another name, or replace it with --force\n"
    assert output.read_text() == "mine"
    coracle(*words, "--force")
    assert output.read_text() == document
    coracle(*words[:-1], "/dev/null")
