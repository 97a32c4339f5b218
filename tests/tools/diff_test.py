"""coracle diff: what a newer version of definitions breaks, and that harmless changes are not reported."""

import json

import pytest

from coracle_command import USAGE, coracle
from programs import MOVIE_PROTO, own, run

BROKEN = 66
HEAD = 'syntax = "proto3";\npackage p;\n'

# What changes, the older and the newer text behind HEAD, and what breaks by which rule.
BREAKING = [
    ("field removed", "message M { string a = 1; int32 b = 2; }", "message M { string a = 1; }", "wire", "field-removed"),
    ("number reserved only", "message M { int32 b = 2; }", "message M { reserved 2; }", "json", "field-removed"),
    ("number and name reserved", "message M { int32 b = 2; }", 'message M { reserved 2; reserved "b"; }', "source", "field-removed"),
    ("field renumbered", "message M { int32 b = 2; }", "message M { int32 b = 3; }", "wire", "field-renumbered"),
    ("field renamed", "message M { int32 b = 2; }", "message M { int32 c = 2; }", "json", "field-renamed"),
    ("field renamed with its JSON name kept", "message M { int32 b = 2; }", 'message M { int32 c = 2 [json_name = "b"]; }', "source", "field-renamed"),
    ("JSON name", "message M { int32 b = 2; }", 'message M { int32 b = 2 [json_name = "x"]; }', "json", "json-name-changed"),
    ("string to number", "message M { string a = 1; }", "message M { int32 a = 1; }", "wire", "type-changed"),
    ("int32 to sint32", "message M { int32 a = 1; }", "message M { sint32 a = 1; }", "wire", "type-changed"),
    ("int32 to fixed32", "message M { int32 a = 1; }", "message M { fixed32 a = 1; }", "wire", "type-changed"),
    ("float to double", "message M { float a = 1; }", "message M { double a = 1; }", "wire", "type-changed"),
    ("int32 to int64", "message M { int32 a = 1; }", "message M { int64 a = 1; }", "json", "type-changed"),
    ("bool to int32", "message M { bool a = 1; }", "message M { int32 a = 1; }", "json", "type-changed"),
    ("string to bytes", "message M { string a = 1; }", "message M { bytes a = 1; }", "json", "type-changed"),
    ("int32 to uint32", "message M { int32 a = 1; }", "message M { uint32 a = 1; }", "source", "type-changed"),
    ("enum to int32", "enum E { A = 0; } message M { E a = 1; }", "enum E { A = 0; } message M { int32 a = 1; }", "json", "type-changed"),
    ("another enum", "enum E { A = 0; } enum F { B = 0; } message M { E a = 1; }", "enum E { A = 0; } enum F { B = 0; } message M { F a = 1; }", "json", "type-changed"),
    ("another message", "message A {} message B {} message M { A a = 1; }", "message A {} message B {} message M { B a = 1; }", "wire", "type-changed"),
    ("singular to repeated", "message M { string a = 1; }", "message M { repeated string a = 1; }", "wire", "cardinality-changed"),
    ("repeated to map", "message M { repeated string a = 1; }", "message M { map<string, string> a = 1; }", "wire", "cardinality-changed"),
    ("key of a map", "message M { map<string, string> a = 1; }", "message M { map<int32, string> a = 1; }", "wire", "type-changed"),
    ("value of a map", "message M { map<string, int32> a = 1; }", "message M { map<string, int64> a = 1; }", "json", "type-changed"),
    ("into a oneof", "message M { string a = 1; }", "message M { oneof o { string a = 1; } }", "wire", "oneof-changed"),
    ("out of a oneof", "message M { oneof o { string a = 1; } }", "message M { string a = 1; }", "wire", "oneof-changed"),
    ("optional", "message M { string a = 1; }", "message M { optional string a = 1; }", "source", "presence-changed"),
    ("message removed", "message M {} message N {}", "message M {}", "source", "message-removed"),
    ("nested message removed", "message M { message N {} }", "message M {}", "source", "message-removed"),
    ("enum removed", "enum E { A = 0; } message M {}", "message M {}", "source", "enum-removed"),
    ("enum value removed", "enum E { A = 0; B = 1; }", "enum E { A = 0; }", "wire", "enum-value-removed"),
    ("enum number reserved", "enum E { A = 0; B = 1; }", "enum E { A = 0; reserved 1; }", "json", "enum-value-removed"),
    ("enum number and name reserved", "enum E { A = 0; B = 1; }", 'enum E { A = 0; reserved 1; reserved "B"; }', "source", "enum-value-removed"),
    ("enum value renamed", "enum E { A = 0; B = 1; }", "enum E { A = 0; C = 1; }", "json", "enum-value-renamed"),
    ("enum value renumbered", "enum E { A = 0; B = 1; }", "enum E { A = 0; B = 2; }", "wire", "enum-value-renumbered"),
    ("reserved number given up", "message M { reserved 5; }", "message M {}", "wire", "reserved-removed"),
    ("reserved number used", "message M { reserved 5 to 7; }", "message M { reserved 5, 7; int32 a = 6; }", "wire", "reserved-used"),
    ("reserved number far inside a range used", "message M { reserved 5 to max; }", "message M { reserved 5 to 99999, 100001 to max; int32 a = 100000; }", "wire", "reserved-used"),
    ("end of a reserved range given up", "message M { reserved 5 to 200000; }", "message M { reserved 5 to 100000, 100002 to 150000; int32 a = 100001; }", "wire", "reserved-removed"),
    ("reserved number of an enum given up", "enum E { A = 0; reserved 5 to max; }", "enum E { A = 0; reserved 5 to 100; }", "wire", "reserved-removed"),
    ("reserved number of an enum used", "enum E { A = 0; reserved 5 to max; }", "enum E { A = 0; B = 70; reserved 5 to 69, 71 to max; }", "wire", "reserved-used"),
    ("reserved name given up", 'message M { reserved "a"; }', "message M {}", "json", "reserved-removed"),
    ("service removed", "message M {} service S { rpc A(M) returns (M); }", "message M {}", "wire", "service-removed"),
    ("method removed", "message M {} service S { rpc A(M) returns (M); }", "message M {} service S {}", "wire", "method-removed"),
    ("request", "message M {} message N {} service S { rpc A(M) returns (M); }", "message M {} message N {} service S { rpc A(N) returns (M); }", "wire", "request-changed"),
    ("reply", "message M {} message N {} service S { rpc A(M) returns (M); }", "message M {} message N {} service S { rpc A(M) returns (N); }", "wire", "reply-changed"),
    ("stream of requests", "message M {} service S { rpc A(M) returns (M); }", "message M {} service S { rpc A(stream M) returns (M); }", "wire", "streaming-changed"),
    ("stream of replies", "message M {} service S { rpc A(M) returns (stream M); }", "message M {} service S { rpc A(M) returns (M); }", "wire", "streaming-changed"),
]

HARMLESS = [
    ("field added", "message M { string a = 1; }", "message M { string a = 1; int32 b = 2; }"),
    ("field added to a oneof", "message M { oneof o { string a = 1; } }", "message M { oneof o { string a = 1; int32 b = 2; } }"),
    ("message and enum added", "message M {}", "message M {} message N {} enum E { A = 0; }"),
    ("enum value added", "enum E { A = 0; }", "enum E { A = 0; B = 1; }"),
    ("method and service added", "message M {} service S {}", "message M {} service S { rpc A(M) returns (M); } service T {}"),
    ("order and comments", "message M { string a = 1; int32 b = 2; }", "// About it.\nmessage M { int32 b = 2; /* then */ string a = 1; }"),
    ("reserved ranges split and joined", "message M { reserved 5 to 9, 10 to 20; }", "message M { reserved 5, 6 to 30; }"),
    ("reserved added", "message M { string a = 1; }", 'message M { string a = 1; reserved 9; reserved "z"; }'),
    ("oneof renamed around nothing", "message M { string a = 1; } message N {}", "message N {} message M { string a = 1; }"),
]


@pytest.fixture
def versions(tmp_path):
    def write(older, newer, head=HEAD):
        paths = []
        for name, text in (("old", older), ("new", newer)):
            (tmp_path / name).mkdir()
            paths.append(tmp_path / name / "p.proto")
            paths[-1].write_text(head + text + "\n")
        return paths
    return write


def findings(*words, code):
    return [json.loads(line) for line in coracle("diff", *words, "--format", "json", code=code).stdout.splitlines()]


@pytest.mark.parametrize("older, newer, breaks, rule", [one[1:] for one in BREAKING], ids=[one[0] for one in BREAKING])
def test_a_breaking_change_is_found(versions, older, newer, breaks, rule):
    old, new = versions(older, newer)
    found = findings(old, new, code=BROKEN)
    assert (breaks, rule) in [(one["breaks"], one["rule"]) for one in found], f"it finds {found}"
    for one in found:
        assert one["location"].startswith("p.proto:") and one["element"].startswith("p."), one
    kinds = ["wire", "json", "source"]
    for against in kinds:
        here = [one for one in found if kinds.index(one["breaks"]) <= kinds.index(against)]
        assert findings(old, new, "--against", against, code=BROKEN if here else 0) == here, against


@pytest.mark.parametrize("older, newer", [one[1:] for one in HARMLESS], ids=[one[0] for one in HARMLESS])
def test_a_harmless_change_is_not_reported(versions, older, newer):
    done = coracle("diff", *versions(older, newer))
    assert done.stdout == "No breaking changes (source).\n"


@pytest.mark.parametrize("text", [one[index] for one in BREAKING for index in (1, 2)])
def test_a_version_breaks_nothing_of_itself(versions, text):
    assert findings(*versions(text, text), code=0) == []


def test_defaults_required_fields_and_enums_of_proto2(versions):
    old, new = versions("message M { optional int32 a = 1 [default = 5]; } enum E { A = 0; }",
                        "message M { optional int32 a = 1 [default = 6]; required int32 b = 2; } enum E { A = 0; }",
                        'syntax = "proto2";\npackage p;\n')
    assert [one["rule"] for one in findings(old, new, code=BROKEN)] == ["default-changed", "required-added"]
    new.write_text(HEAD + "message M { optional int32 a = 1; } enum E { A = 0; }")
    assert "enum-openness-changed" in [one["rule"] for one in findings(old, new, code=BROKEN)]


def test_people_get_a_list_by_what_breaks(versions):
    old, new = versions("message M { string a = 1; int32 b = 2; }", "message M { string c = 1; }")
    assert coracle("diff", old, new, code=BROKEN).stdout == (
        "Breaks messages and calls on the wire:\n"
        "  p.proto:3: field p.M.b (2) was removed, and its number is not reserved: write 'reserved 2, \"b\";'\n\n"
        "Breaks messages in JSON:\n"
        "  p.proto:3: field p.M.c (1): the name changed from a to c\n")


def test_folders_and_moved_messages(tmp_path):
    for name, files in (("old", {"a.proto": "message M {}"}), ("new", {"a.proto": "", "sub/b.proto": "message M {}"})):
        for file, text in files.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(HEAD + text)
    assert [one["rule"] for one in findings(tmp_path / "old", tmp_path / "new", code=BROKEN)] == ["file-changed"]
    (tmp_path / "empty").mkdir()
    assert "there are no .proto files" in coracle("diff", tmp_path / "old", tmp_path / "empty", code=USAGE).stderr


def test_two_files_are_two_versions_of_one(tmp_path):
    (tmp_path / "part.proto").write_text(HEAD + "message Part {}")
    for name, text in (("a", "message M { string a = 1; } message N {}"), ("b", "message M { bytes a = 1; } message N {}")):
        (tmp_path / f"{name}.proto").write_text(HEAD + 'import "part.proto";\n' + text)
    assert [one["rule"] for one in findings(tmp_path / "a.proto", tmp_path / "b.proto", code=BROKEN)] == ["type-changed"]


def test_a_file_is_the_one_with_its_package(movie_server, tmp_path):
    renamed, folder = tmp_path / "m1.proto", tmp_path / "folder"
    renamed.write_text(MOVIE_PROTO.read_text())
    folder.mkdir()
    (folder / "movie.proto").write_text(MOVIE_PROTO.read_text())
    (folder / "p.proto").write_text(HEAD + "message M {}")
    server = movie_server.address
    for older, newer, code in ((renamed, server, 0), (renamed, folder, 0), (folder / "p.proto", folder, 0), (server, renamed, BROKEN)):
        assert "file-changed" not in [one["rule"] for one in findings(older, newer, "-p", code=code)], (older, newer)


def test_a_server_against_a_descriptor_set(movie_server, tmp_path):
    kept = tmp_path / "movie.protoset"
    coracle("describe", movie_server.address, "-p", "--protoset-out", kept)
    assert findings(kept, movie_server.address, "-p", code=0) == []
    changed = tmp_path / "movie.proto"
    changed.write_text(MOVIE_PROTO.read_text().replace("string title = 2;", "bytes title = 2;"))
    rules = [one["rule"] for one in findings(changed, movie_server.address, "-p", code=BROKEN)]
    assert "type-changed" in rules, "the server is the newer version"


def test_a_missing_version_is_an_error():
    assert "there is no file or folder nowhere.proto" in coracle("diff", "nowhere.proto", "a.proto", code=USAGE).stderr
    done = run(own("coracle"), "diff", MOVIE_PROTO, "127.0.0.1:1", "-p")
    assert done.returncode == 14, done.stderr
