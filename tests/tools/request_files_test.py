"""Requests in files: coracle test, coracle call -f and call --save; the format is that of docs/cli/test.md."""

import json
import os
import re
import xml.etree.ElementTree

import pytest

from coracle_command import FAILURE, USAGE, coracle
from programs import MOVIE_PROTO, ROOT, Server, own, run

CHECK_FAILED = 66


@pytest.fixture
def server(movie_server):
    return movie_server


@pytest.fixture
def written(tmp_path, server):
    """A file of requests; ADDRESS stands for the server."""
    def write(text, name="movies.grpc"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace("ADDRESS", f"http://{server.address}"))
        return path
    return write


def problems(path, *words):
    """The lines below the failed requests."""
    done = coracle("test", path, *words, code=CHECK_FAILED)
    return [line.strip().replace(f"{path}:", "") for line in done.stdout.splitlines() if line.startswith("      ")]


GOOD = """# Comments stand anywhere.
### add
CALL ADDRESS movie.MovieService/AddMovie
--timeout 5s
x-a: b

{"title": "Alien",
# here, too
 "yearOfProduction": 1979}

EXPECT OK
{"movieId": "{{match [0-9]+}}"}

### no title
CALL ADDRESS AddMovie

EXPECT INVALID_ARGUMENT needs a title

CALL ADDRESS AddMultipleMovies

{"title": "One"} {"title": "Two"}
EXPECT OK
{"movieIds": ["{{any}}", "{{any}}"]}

### a stream
CALL ADDRESS ListMovies

EXPECT OK
{"title": "{{any}}", "durationMinutes": 0, "genres": []}
...
"""


def test_requests_that_go_as_expected_pass(written):
    path = written(GOOD)
    done = coracle("test", path)
    names = [line.split(": ", 1)[1].rsplit(" (")[0] for line in done.stdout.splitlines()[:-1]]
    assert names == ["add", "no title", "AddMultipleMovies", "a stream"], done.stdout
    assert done.stdout.endswith("4 passed, 0 failed\n") and done.stderr == ""
    assert coracle("test", path, "--name", "add").stdout.endswith("1 passed, 0 failed\n")


def test_what_is_not_as_expected_names_its_line(written):
    assert problems(written('CALL ADDRESS AddMovie\n\n{"title": "a"}\n\nEXPECT NOT_FOUND\n')) == ["5: the status is OK, expected NOT_FOUND"]
    assert problems(written("CALL ADDRESS AddMovie\n"))[0].startswith("1: the status is INVALID_ARGUMENT: a movie needs a title, expected OK")
    assert problems(written("CALL ADDRESS AddMovie\n\nEXPECT INVALID_ARGUMENT too long\n")) == [
        "3: the message is 'a movie needs a title', which does not contain 'too long'"]
    found = problems(written('CALL ADDRESS AddMovie\n\n{"title": "a"}\nEXPECT OK\n\n{"movieId": "x"}'))
    assert re.fullmatch(r'6: \.movieId is "\d+", expected "x"', found[0]), found
    found = problems(written('CALL ADDRESS AddMovie\n\n{"title": "a"}\n\nCALL ADDRESS ListMovies\n\nEXPECT OK\n'
                             '{"title": "none",\n "yearOfProduction": 3000}\n...\n'))
    assert [re.sub(" is .*", "", line) for line in found] == ["8: .title", "8: .yearOfProduction"], found


def test_an_expected_field_exists(written):
    text = 'CALL ADDRESS AddMovie\n\n{"title": "a"}\nEXPECT OK\n{"movie_id": "{{any}}",\n "movieIdd": %s}'
    for value in ('""', "0", "false", "[]", '"x"'):
        assert problems(written(text % value)) == ["6: there is no field 'movieIdd'; did you mean 'movieId'?"]
    text = 'CALL ADDRESS ListMovies\n\nEXPECT OK\n{"directors": [{"surname": ""}]}\n...\n'
    assert problems(written(text))[0].startswith("4: there is no field 'surname'")


def test_the_number_of_replies_is_compared(written):
    two = 'CALL ADDRESS AddMultipleMovies\n\n{"title": "a"}\n\nEXPECT OK\n{}\n{}\n'
    assert problems(written(two)) == ["5: 1 reply, expected 2"]
    assert problems(written(two + "...\n")) == ["5: 1 reply, expected 2 or more"]
    assert problems(written("CALL ADDRESS ListMovies\n\nEXPECT OK\n{}\n"))[0].endswith("replies, expected 1")


@pytest.mark.parametrize("text, reason", [
    ("", "1: the file has no request: a line 'CALL ADDRESS METHOD' begins one"),
    ("### x\nhello\n", "2: expected a line 'CALL ADDRESS METHOD', not 'hello'"),
    ("CALL\n", "1: CALL takes an address and a method: CALL localhost:50051 package.Service/Method"),
    ("CALL ADDRESS AddMovie\nhello\n", "2: expected '--option value', 'name: value', or an empty line before the messages, not 'hello'"),
    ("CALL ADDRESS AddMovie\n--tiemout 5s\n", "2: there is no option --tiemout here; did you mean '--timeout'? those of the connection and the definitions apply"),
    ("CALL ADDRESS AddMovie\n--timeout\n", "2: --timeout takes a value"),
    ("CALL ADDRESS AddMovie\n--timeout soon\n", "1: --timeout is a time such as 5s, 200ms or 1.5m, not 'soon'"),
    ("CALL ADDRESS AddMovi\n", "1: there is no method AddMovi; did you mean 'AddMovie'?"),
    ("CALL AddMovie\n", "1: there is no address: write CALL ADDRESS METHOD, or give one on the command line"),
    ("CALL ADDRESS AddMovie\n\nEXPECT OK\n\nEXPECT OK\n", "5: this request has an EXPECT in line 3"),
    ("CALL ADDRESS AddMovie\n\nEXPECT NOTFOUND\n", "3: there is no status NOTFOUND; did you mean 'NOT_FOUND'? EXPECT takes a status such as OK or NOT_FOUND"),
    ("CALL ADDRESS AddMovie\n\nEXPECT ok\n", "3: there is no status ok; did you mean 'OK'? EXPECT takes a status such as OK or NOT_FOUND"),
    ('CALL ADDRESS AddMovie\n\nEXPECT OK {"movieId": "1"}\n',
     "3: the JSON of a reply stands below EXPECT, on lines of its own; here stands a part of the message"),
    ("EXPECT OK\n", "1: EXPECT stands below the CALL whose outcome it describes"),
    ("CALL ADDRESS ListMovies\n\nEXPECT OK\n...\n{}\n", "5: '...' stands behind the last expected reply"),
    ('CALL ADDRESS AddMovie\n\n{"title": "a"}\n\nEXPECT OK\n{"movieId": }\n', '6: this is not valid JSON: {"movieId": }'),
    ('CALL ADDRESS AddMovie\n\n{"title": "a"}\n\nEXPECT OK\n{"movieId": "{{match [}}"}\n', "6: '[' is no valid regular expression")])
def test_an_error_names_its_line(written, text, reason):
    assert problems(written(text))[0] == reason


def test_hostile_files_are_errors(written, tmp_path):
    add = 'CALL ADDRESS AddMovie\n\n{"title": "a"}\n\nEXPECT OK\n{"movieId": '
    assert problems(written(add + 2_000_000 * "[" + 2_000_000 * "]" + "}\n")) == ["6: this is nested deeper than 100 levels"]
    assert problems(written(add + '"{{match ' + 100_000 * "(" + 100_000 * ")" + '}}"}\n')) == [
        "6: an expression has at most 1000 characters, not 200000"]
    large, pipe = tmp_path / "large.grpc", tmp_path / "pipe.grpc"
    with large.open("w") as file:
        file.truncate((16 << 20) + 1)
    os.mkfifo(pipe)
    assert f"the file {large} cannot be read: it is larger than 16 MiB" in coracle("call", "-f", large, code=FAILURE).stderr
    for path in (pipe, "/dev/zero"):
        assert f"the file {path} cannot be read: it is no regular file" in coracle("call", "-f", path, code=FAILURE).stderr


def test_expressions_end_with_any_value(tmp_path):
    path = tmp_path / "long.grpc"
    with Server(own("movie_server"), "--port=0") as server:
        coracle("call", f"http://{server.address}", "AddMovie", "-d", json.dumps({"title": 9_990 * "a"}))
        for expression, code in ((20 * "(" + "a" + 20 * ")" + "*", 0), ("(a*)*b", CHECK_FAILED)):
            path.write_text(f'CALL http://{server.address} ListMovies\n\nEXPECT OK\n{{"title": "{{{{match {expression}}}}}"}}\n')
            coracle("test", path, code=code)


def test_many_values_are_read_at_once(written):
    """Their lines are counted once: 300,000 of them took minutes."""
    path = written("CALL ADDRESS AddMovie\n\n" + 300_000 * "{}\n" + "x: y\nEXPECT NOTFOUND\n")
    assert problems(path)[0].startswith("300004: there is no status NOTFOUND")
    path = written("CALL ADDRESS AddMovi\n\n" + 300_000 * "{}\n" + "EXPECT OK\n")
    assert problems(path)[0].startswith("1: there is no method AddMovi")


def test_an_invalid_message_is_shown_with_its_place(written):
    path = written('CALL ADDRESS AddMovie\n\n{"title": "a",\n "titel": "b"}\n')
    assert coracle("call", "-f", path, code=FAILURE).stderr == (
        f"coracle: error: {path}:4: column 2: there is no field 'titel'; did you mean 'title'?\n   \"titel\": \"b\"}}\n   ^\n"
        "  hint: `coracle describe` shows its fields\n")


def test_folders_are_read_in_order_and_results_are_written_for_pipelines(written, tmp_path):
    written(GOOD, "requests/b.grpc")
    written("CALL ADDRESS AddMovie\n\nEXPECT OK\n", "requests/a<&>.grpc")
    written("no requests", "requests/other.txt")
    done = coracle("test", tmp_path / "requests", "--junit", tmp_path / "results.xml", code=CHECK_FAILED)
    assert [line.split(":")[0].rsplit("/")[-1] for line in done.stdout.splitlines() if line[0] != " "][:2] == ["a<&>.grpc", "b.grpc"]
    found = xml.etree.ElementTree.parse(tmp_path / "results.xml").getroot()
    assert (found.tag, found.get("tests"), found.get("failures")) == ("testsuites", "5", "1")
    assert [(suite.get("name").rsplit("/")[-1], suite.get("tests")) for suite in found] == [("a<&>.grpc", "1"), ("b.grpc", "4")]
    failed = found.find("testsuite/testcase/failure")
    assert "the status is INVALID_ARGUMENT" in failed.get("message") and float(found[1][0].get("time")) > 0
    (tmp_path / "empty").mkdir()
    assert "there are no files that end in .grpc" in coracle("test", tmp_path / "empty", code=USAGE).stderr


def test_a_wrong_command_line_is_no_failed_call(written, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text('{"targets": {}}')
    monkeypatch.setenv("CORACLE_CONFIG", str(tmp_path / "config.json"))
    path = written(GOOD)
    for words, reason in ((("--timeout", "1ns"), "--timeout"), (("--address", "@missing"), "has no target 'missing'"), (("-H", "x"), "a header has the form"),
                          (("--address", "https://localhost:1", "-p"), "https:// requires TLS")):
        done = coracle("test", path, *words, code=USAGE)
        assert reason in done.stderr and done.stdout == "", done


def test_a_folder_that_cannot_be_read_fails_alone(written, tmp_path):
    written(GOOD, "requests/a.grpc")
    closed = tmp_path / "requests/closed"
    closed.mkdir(mode=0)
    # root reads all folders, unless it has lost the capability.
    words = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    done = run(*words, own("coracle"), "test", tmp_path / "requests")
    assert f"FAIL  {closed}: the folder (0.0 ms)\n      it cannot be read: Permission denied\n" in done.stdout, done.stdout + done.stderr
    assert done.stdout.endswith("4 passed, 1 failed\n") and done.returncode == CHECK_FAILED


def test_the_command_line_takes_precedence(written, server):
    path = written('CALL http://127.0.0.1:1 AddMovie\n--timeout 0s\n\n{"title": "a"}\n')
    coracle("test", path, "--address", f"http://{server.address}", "--timeout", "20s")
    assert "the status is DEADLINE_EXCEEDED" in problems(path, "--address", f"http://{server.address}", "--proto", MOVIE_PROTO)[0]
    assert "UNAVAILABLE" in problems(written("CALL nohost.invalid:1 AddMovie\n--plaintext\n"))[0]


def test_the_security_of_a_file_belongs_to_its_address(written, server, monkeypatch, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"targets": {"a": {"address": f"http://{server.address}"}}}))
    monkeypatch.setenv("CORACLE_CONFIG", str(config))
    path = written('CALL elsewhere:1 AddMovie\n--ca missing.pem\n--server-name elsewhere\n\n{"title": "a"}\n')
    for address in (f"http://{server.address}", "@a"):
        coracle("test", path, "--address", address)
        coracle("call", "-f", path, address)
    path = written('CALL elsewhere:1 AddMovie\n--plaintext\n\n{"title": "a"}\n')
    assert "TLS" in problems(path, "--address", f"https://{server.address}")[0]
    coracle("test", path, "--address", server.address, "--plaintext")


def test_paths_count_from_the_folder_of_the_file(tmp_path):
    proto = ROOT / "examples/01_greeter/greeter.proto"
    (tmp_path / "greeter.proto").write_text(proto.read_text())
    with Server(own("greeter_server"), "127.0.0.1:0") as server:  # without reflection
        (tmp_path / "hello.grpc").write_text(f'CALL http://{server.address} SayHello\n--proto greeter.proto\n\n{{"name": "Ada"}}\n\n'
                                             'EXPECT OK\n{"message": "Hello, Ada"}\n')
        coracle("test", tmp_path / "hello.grpc")


def test_call_prints_the_replies_of_a_file(written):
    done = coracle("call", "-f", written(GOOD), "--name", "add")
    assert int(json.loads(done.stdout)["movieId"]) > 0 and done.stderr == ""
    done = coracle("call", "-f", written("CALL ADDRESS AddMovie\n\n{}\n"), code=3)
    assert done.stderr.startswith("coracle: error: INVALID_ARGUMENT: a movie needs a title"), done.stderr
    path = written("CALL ADDRESS AddMovie\n\n{}\n\nEXPECT OK\n")
    done = coracle("call", "-f", path, code=CHECK_FAILED)
    assert done.stderr == f"coracle: error: {path}:5: the status is INVALID_ARGUMENT: a movie needs a title, expected OK\n"
    for words in (("AddMovie", "-f", path), ("-f", path, "-d", "{}")):
        assert coracle("call", "localhost:1", *words, code=USAGE).stderr


def test_a_saved_call_passes_again(tmp_path, server, monkeypatch):
    path = tmp_path / "saved.grpc"
    monkeypatch.setenv("TENANT", "acme")
    words = ("-p", "-H", "x-tenant: ${TENANT}", "--timeout", "20s")
    coracle("call", server.address, *words, "ListMovies", "-d", "{}", "--proto", MOVIE_PROTO, "--save", path)
    coracle("call", server.address, *words, "AddMovie", "-d", "{}", "--save", path, code=3)
    text = path.read_text()
    assert text.startswith(f"### ListMovies\nCALL http://{server.address} movie.MovieService/ListMovies\n--timeout 20s\n"), text
    assert text.endswith(f"\n\n### AddMovie\nCALL http://{server.address} movie.MovieService/AddMovie\n--timeout 20s\nx-tenant: ${{TENANT}}\n\n{{}}\n\n"
                         "EXPECT INVALID_ARGUMENT a movie needs a title\n"), text
    assert coracle("test", path).stdout.endswith("2 passed, 0 failed\n")
    (tmp_path / "other.grpc").write_text("something else")
    assert "other.grpc:1: expected a line" in coracle("call", server.address, "-p", "ListMovies", "-d", "{}", "--save", tmp_path / "other.grpc", code=FAILURE).stderr


def test_a_saved_call_has_no_secret(tmp_path, server, monkeypatch):
    path = tmp_path / "saved.grpc"
    monkeypatch.setenv("KEY", "k")
    headers = ("-H", "Authorization: Bearer s3cret", "-H", "x-api-key: ${KEY}", "-H", "x-id: 1", "--reflect-header", "x-token: s3cret")
    done = coracle("call", f"http://{server.address}", *headers, "ListMovies", "--save", path)
    assert "the value of 'Authorization' is not saved: the file has ${AUTHORIZATION} in its place" in done.stderr, done.stderr
    text = path.read_text()
    assert "--reflect-header x-token: ${X_TOKEN}\nAuthorization: ${AUTHORIZATION}\nx-api-key: ${KEY}\nx-id: 1\n" in text, text
    assert "s3cret" not in text
    monkeypatch.setenv("AUTHORIZATION", "Bearer s3cret")
    monkeypatch.setenv("X_TOKEN", "s3cret")
    coracle("test", path)


def test_a_call_is_made_only_if_it_can_be_saved(tmp_path):
    """Nothing listens there: the error is that of the file."""
    words = ("call", "http://127.0.0.1:1", "AddMovie", "--proto", MOVIE_PROTO, "-d", "{}", "--save")
    for path, reason in ((tmp_path / "no/saved.grpc", "No such file or directory"), (tmp_path, "Is a directory")):
        done = coracle(*words, path, code=FAILURE)
        assert f"the file {path} cannot be" in done.stderr and reason in done.stderr and "UNAVAILABLE" not in done.stderr, done.stderr


def test_a_saved_call_replaces_the_file_at_once(tmp_path, server):
    file, link = tmp_path / "saved.grpc", tmp_path / "link.grpc"
    file.write_text("CALL mine ListMovies\n")
    file.chmod(0o640)
    link.symlink_to(file.name)
    before = file.open()  # a reader of the old content keeps it
    coracle("call", f"http://{server.address}", "AddMovie", "-d", '{"title": "a"}', "--save", link)
    assert before.read() == "CALL mine ListMovies\n" and file.read_text().startswith("CALL mine ListMovies\n\n### AddMovie\n")
    assert link.is_symlink() and file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.grpc", "saved.grpc"]


def test_unknown_fields_are_not_saved(tmp_path):
    done = coracle("call", "localhost:1", "AddMovie", "--allow-unknown-fields", "-d", '{"x": 1}', "--save", tmp_path / "saved.grpc", code=USAGE)
    assert "remove --allow-unknown-fields or --save" in done.stderr and not list(tmp_path.iterdir())


def test_requests_have_names_of_their_own(tmp_path, server):
    path = tmp_path / "saved.grpc"
    for _ in range(3):
        coracle("call", f"http://{server.address}", "AddMovie", "-d", '{"title": "a"}', "--save", path)
    assert [line for line in path.read_text().splitlines() if line.startswith("###")] == ["### AddMovie", "### AddMovie 2", "### AddMovie 3"]
    path.write_text(2 * f"CALL http://{server.address} ListMovies\n")
    done = coracle("test", path, "--junit", tmp_path / "results.xml")
    assert "ListMovies (line 1)" in done.stdout and "ListMovies (line 2)" in done.stdout
    found = xml.etree.ElementTree.parse(tmp_path / "results.xml").getroot()
    assert [case.get("name") for case in found.iter("testcase")] == ["ListMovies (line 1)", "ListMovies (line 2)"]


def test_what_a_target_adds_is_not_saved(tmp_path, server, monkeypatch):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"targets": {"a": {"address": f"http://{server.address}", "headers": {"authorization": "secret"}, "timeout": "20s"}}}))
    config.chmod(0o600)
    monkeypatch.setenv("CORACLE_CONFIG", str(config))
    coracle("call", "@a", "AddMovie", "-d", '{"title": "x"}', "--save", tmp_path / "saved.grpc")
    text = (tmp_path / "saved.grpc").read_text()
    assert "CALL @a movie.MovieService/AddMovie\n\n" in text and "secret" not in text, text
    text = text.replace(text.splitlines()[-1], "")
    (tmp_path / "saved.grpc").write_text(text)
    coracle("test", tmp_path / "saved.grpc")


def test_the_page_shows_what_happens(tmp_path, server, monkeypatch):
    monkeypatch.setenv("USER", "ada")
    page = (ROOT / "docs/cli/test.md").read_text()
    (tmp_path / "movies.grpc").write_text(page.split("```\n", 2)[1].replace("localhost:50051", server.address))
    assert coracle("test", tmp_path).stdout.endswith("2 passed, 0 failed\n")


def test_the_example_passes(server):
    done = coracle("test", ROOT / "examples/02_movie", "--address", f"http://{server.address}")
    assert done.stdout.endswith("5 passed, 0 failed\n"), done.stdout
