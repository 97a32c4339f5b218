"""The configuration file of coracle: named targets with their address, TLS, headers and definitions."""

import base64
import json

import pytest

from coracle_command import USAGE, coracle
from programs import MOVIE_PROTO, Server, own, run


@pytest.fixture
def configured(tmp_path, monkeypatch):
    path = tmp_path / "config.json"
    monkeypatch.setenv("CORACLE_CONFIG", str(path))

    def write(**targets):
        path.write_text(json.dumps({"targets": targets}))
        path.chmod(0o600)
        return path
    return write


def test_a_target_stands_for_an_address_and_options(movie_server, configured):
    configured(movies={"address": movie_server.address, "plaintext": True, "timeout": "5s"})
    assert "movie.MovieService" in coracle("ls", "@movies").stdout
    assert "movieId" in coracle("call", "@movies", "AddMovie", "-d", '{"title": "Target"}').stdout
    assert coracle("health", "@movies").stdout
    assert coracle("load", "@movies", "AddMovie", "-d", '{"title": "x"}', "-n", "5").returncode == 0


def test_the_command_line_overrides_a_target(movie_server, configured):
    configured(movies={"address": movie_server.address, "plaintext": True, "timeout": "0.001us"})
    done = run(own("coracle"), "call", "@movies", "ListMovies", "--proto", MOVIE_PROTO)
    assert done.returncode == 4, done.stderr
    coracle("call", "@movies", "ListMovies", "--proto", MOVIE_PROTO, "--timeout", "10s")


def test_headers_come_from_texts_variables_files_and_commands(movie_server, configured, tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_TOKEN", "from the environment")
    (tmp_path / "token").write_text("from a file\n")
    recording = tmp_path / "calls.jsonl"
    with Server(own("coracle"), "proxy", movie_server.address, "-p", "--listen", "127.0.0.1:0", "--record", recording) as proxy:
        configured(movies={"address": proxy.address, "plaintext": True, "proto": [str(MOVIE_PROTO)], "headers": {
            "x-text": "a text", "x-variable": "${TEST_TOKEN}", "x-file": {"file": "token"},
            "x-command": {"command": "echo from a command"}, "x-replaced": "by the file"}})
        coracle("call", "@movies", "ListMovies", "-H", "X-Replaced: by the command line")
    metadata = [json.loads(line).get("metadata", []) for line in recording.read_text().splitlines()]
    text = [base64.b64decode(value).decode() for fields in metadata for _, value in fields]
    for value in ("a text", "from the environment", "from a file", "from a command", "by the command line"):
        assert value in text, f"{value!r} was not sent"
    assert "by the file" not in text


def test_paths_are_relative_to_the_file(movie_server, configured, tmp_path):
    (tmp_path / "movie.proto").write_text(MOVIE_PROTO.read_text())
    configured(movies={"address": movie_server.address, "plaintext": True, "proto": ["movie.proto"], "import": ["."]})
    assert coracle("ls", "@movies").stdout == "movie.MovieService\n"


def test_tls_of_a_target(configured, tmp_path):
    configured(movies={"address": "127.0.0.1:1", "tls": {"ca": "missing.pem", "server_name": "movies"}})
    done = run(own("coracle"), "ls", "@movies")
    assert str(tmp_path / "missing.pem") in done.stderr, done.stderr


@pytest.mark.parametrize("target, says", [
    ({"address": "a:1", "plaintxt": True}, "targets.movies has an unknown key 'plaintxt'; did you mean 'plaintext'?"),
    ({"plaintext": True}, "targets.movies has no address"),
    ({"address": 5}, "targets.movies.address must be a string"),
    ({"address": "a:1", "plaintext": "yes"}, "targets.movies.plaintext must be true or false"),
    ({"address": "a:1", "tls": {"cas": "x"}}, "targets.movies.tls has an unknown key 'cas'"),
    ({"address": "a:1", "proto": "x"}, "targets.movies.proto must be an array of paths"),
    ({"address": "a:1", "headers": {"x": 1}}, "targets.movies.headers.x must be a string"),
    ({"address": "a:1", "compress": "zip"}, "--compress: zip not in"),
    ({"address": "a:1", "max_message_bytes": 0}, "--max-message-bytes"),
    ({"address": "a:1", "headers": {"x": {"command": "exit 3"}}}, "the command 'exit 3' failed"),
    ({"address": "a:1", "headers": {"x": {"command": "yes"}}}, "printed more than 64 KiB"),
])
def test_a_mistake_is_an_error_that_names_it(configured, target, says):
    path = configured(movies=target)
    done = coracle("ls", "@movies", code=USAGE)
    assert says in done.stderr and str(path) in done.stderr, done.stderr


def test_unknown_targets_and_broken_files(configured):
    path = configured(movies={"address": "a:1"})
    assert "has no target 'movie'; did you mean 'movies'?" in coracle("ls", "@movie", code=USAGE).stderr
    path.write_text("{")
    assert "is not valid JSON" in coracle("ls", "@movies", code=USAGE).stderr
    path.write_text('{"target": {}}')
    assert "unknown key 'target'; did you mean 'targets'?" in coracle("ls", "@movies", code=USAGE).stderr
    path.unlink()
    assert "there is no configuration file" in coracle("ls", "@movies", code=USAGE).stderr


def test_secrets_that_others_can_read_are_reported(movie_server, configured):
    path = configured(movies={"address": movie_server.address, "plaintext": True, "headers": {"authorization": "Bearer x"}})
    assert coracle("ls", "@movies").stderr == ""
    path.chmod(0o644)
    assert f"warning: other users can read {path}" in coracle("ls", "@movies").stderr
