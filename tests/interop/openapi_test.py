"""The document of OpenAPI 3.1 of a service with every kind of rule and field: valid, and with what it describes."""

import json
import os
import subprocess

import pytest

from programs import PEERS, ROOT, own, run

pytest.importorskip("openapi_spec_validator", reason="./dev peers installs it")

import yaml  # noqa: E402
from openapi_spec_validator import OpenAPIV31SpecValidator  # noqa: E402

LINTERS = PEERS.parent / "linters"
KINDS = ROOT / "tests/unit/rpc/rest_kinds.proto"


@pytest.fixture(scope="module")
def protoset(tmp_path_factory):
    path = tmp_path_factory.mktemp("openapi") / "kinds.protoset"
    subprocess.run(["protoc", f"-I{KINDS.parent}", f"-I{ROOT}/proto", "--include_imports", "--include_source_info",
                    f"--descriptor_set_out={path}", KINDS.name], check=True)
    return path


def document(*arguments):
    done = run(own("openapi_tool"), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def described(protoset):
    return json.loads(document(protoset, "json"))


def test_the_document_is_valid(described):
    OpenAPIV31SpecValidator(described).validate()


def test_the_validator_finds_a_fault(described):
    broken = json.loads(json.dumps(described))
    broken["paths"]["/v1/search"]["get"]["parameters"][0]["in"] = "nowhere"
    assert list(OpenAPIV31SpecValidator(broken).iter_errors())


def linted(name, *command):
    """What a linter of npm finds in the document with its default rules: the exit code and the output."""
    program = LINTERS / "node_modules/.bin" / name
    if not program.exists():
        pytest.skip("./dev peers installs it")
    done = subprocess.run([program, *command], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"})
    return done.returncode, done.stdout + done.stderr


def test_redocly_finds_no_error(described, tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(described))
    code, said = linted("redocly", "lint", "--extends", "recommended", path)
    assert code == 0, said
    path.write_text(json.dumps({**described, "servers": []}))
    code, said = linted("redocly", "lint", "--extends", "recommended", path)
    assert code != 0 and "no-empty-servers" in said, said


def test_spectral_finds_no_error(described, tmp_path):
    path, rules = tmp_path / "openapi.json", tmp_path / "rules.yaml"
    rules.write_text('extends: ["spectral:oas"]\n')
    path.write_text(json.dumps(described))
    code, said = linted("spectral", "lint", "--ruleset", rules, "--fail-severity", "error", path)
    assert code == 0, said
    broken = json.loads(json.dumps(described))
    broken["paths"]["/v1/books/{title}"]["get"]["parameters"] = []
    path.write_text(json.dumps(broken))
    code, said = linted("spectral", "lint", "--ruleset", rules, "--fail-severity", "error", path)
    assert code != 0 and "path-params" in said, said


def test_yaml_says_the_same(protoset, described):
    assert yaml.safe_load(document(protoset, "yaml")) == described


def test_paths_are_those_of_the_rules(described):
    rest = {(method, path) for path, item in described["paths"].items() for method in item if "rest_kinds" not in path}
    assert rest == {("get", "/v1/shelves/{name_1}/books/{name_2}"), ("get", "/v1/books/{title}"),
                    ("post", "/v1/shelves/{string_value_1}/books"), ("patch", "/v1/shelves/{name_1}/books/{name_2}"),
                    ("delete", "/v1/shelves/{name_1}/books/{name_2}"), ("put", "/v1/everything/{int64_value}"),
                    ("get", "/v1/search"), ("post", "/v1/uploads"), ("put", "/v1/pictures/{string_wrapper}"),
                    ("get", "/v1/files/{name}")}, "MOVE is no method of OpenAPI"
    methods = {path for path in described["paths"] if path.startswith("/rest_kinds.Library/")}
    assert len(methods) == 11 and "/rest_kinds.Library/Plain" in methods


def test_comments_are_descriptions(described):
    get = described["paths"]["/v1/shelves/{name_1}/books/{name_2}"]["get"]
    assert get["summary"] == "Returns a book." and get["description"] == "Returns a book.\n\nFails with NOT_FOUND if there is none."
    schemas = described["components"]["schemas"]
    assert schemas["rest_kinds.Book"]["description"] == "A book."
    assert schemas["rest_kinds.Book"]["properties"]["name"]["description"] == 'Its resource name, "shelves/1/books/2".'
    assert schemas["rest_kinds.Binding"]["description"] == "How a book is bound.\n- `HARDCOVER`: with a spine"
    assert described["tags"] == [{"name": "rest_kinds.Library", "description": "Keeps books."}]


def test_types_are_those_of_json(described):
    fields = described["components"]["schemas"]["rest_kinds.Everything"]["properties"]
    for name, schema in {"int32Value": {"type": "integer", "format": "int32"}, "int64Value": {"type": "string", "format": "int64"},
                         "bytesValue": {"type": "string", "contentEncoding": "base64"}, "boolValue": {"type": "boolean"},
                         "numbers": {"type": "array", "items": {"type": "integer", "format": "int32"}},
                         "enumValue": {"$ref": "#/components/schemas/rest_kinds.Binding"},
                         "shelf": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/rest_kinds.Book"}},
                         "time": {"type": "string", "format": "date-time"}, "renamed": {"type": "string"},
                         "int32Wrapper": {"type": ["integer", "null"], "format": "int32"}, "value": {},
                         "inner": {"$ref": "#/components/schemas/rest_kinds.Everything"}}.items():
        assert fields[name] == schema, name
    assert fields["word"] == {"type": "string", "description": "At most one field of `choice` may be set."}


def test_streams_and_errors_have_their_media_types(described):
    search = described["paths"]["/v1/search"]["get"]
    assert set(search["responses"]["200"]["content"]) == {"application/x-ndjson", "application/json", "text/event-stream"}
    assert search["responses"]["default"]["content"]["application/json"]["schema"]["$ref"].endswith("/google.rpc.Status")
    assert list(described["paths"]["/v1/uploads"]["post"]["requestBody"]["content"]) == ["*/*"]
    assert list(described["paths"]["/v1/files/{name}"]["get"]["responses"]["200"]["content"]) == ["*/*"]
    stream = described["paths"]["/rest_kinds.Library/Search"]["post"]
    assert list(stream["responses"]["200"]["content"]) == ["application/connect+json"]


def test_the_query_has_what_is_neither_in_the_path_nor_in_the_body(described):
    names = [one["name"] for one in described["paths"]["/v1/search"]["get"]["parameters"]]
    assert {"int32Value", "numbers", "book.title", "book.author.givenName", "time", "mask", "int32Wrapper", "names"} <= set(names)
    assert not {"book", "books", "shelf", "struct", "any", "inner"} & set(names) and len(names) == len(set(names))
    update = described["paths"]["/v1/shelves/{name_1}/books/{name_2}"]["patch"]
    assert not [one for one in update["parameters"] if one["in"] == "query" and one["name"].startswith("book.")]
    assert update["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/rest_kinds.Book")
    assert "parameters" not in described["paths"]["/v1/uploads"]["post"]


def test_rules_of_a_file_replace_the_options(protoset, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text('{"http": {"rules": [{"selector": "rest_kinds.Library.Plain", "get": "/plain/{name}"}, '
                     '{"selector": "rest_kinds.Library.Search", "get": "/find"}]}}')
    described = json.loads(document(protoset, "json", rules))
    OpenAPIV31SpecValidator(described).validate()
    assert {"/plain/{name}", "/find"} <= set(described["paths"]) and "/v1/search" not in described["paths"]
    rules.write_text('{"http": {"rules": [{"selector": "rest_kinds.Library.Plain", "get": "/plain/{nothing}"}]}}')
    done = run(own("openapi_tool"), protoset, "json", rules)
    assert done.returncode == 1 and "has no field nothing" in done.stderr and "rest_kinds.Library.Plain" in done.stderr
