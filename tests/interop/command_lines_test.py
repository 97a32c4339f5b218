"""What a wrong command line or a place that is taken gets: one clear line, and an exit code that is not 0."""

import socket

import pytest

from programs import own, run

OTHERS = ("bearer_server", "bearer_client", "chat_server", "copy_file", "echo_server", "echo_client", "file_server", "file_client",
          "foreign_loop_poll", "foreign_loop_uv", "foreign_loop_glib", "proxy")
SERVERS = ("movie_server", "movie_web_server", "interop_server", "relay_server")
CLIENTS = ("movie_client", "interop_client", "relay_client")
EVERY = SERVERS + CLIENTS + OTHERS


def refused(words, *says, env=None):
    """The program ends with a line that contains each of the texts."""
    done = run(own(words[0]), *words[1:], limit_s=15, env=env)
    text = done.stderr.strip()
    assert done.returncode > 0, f"the exit code is {done.returncode}: {done.stdout} {text}"
    assert text and "\n" not in text, f"not one line, but {text!r}"
    assert done.stdout == "", "what it prints besides"
    for part in says:
        assert part.lower() in text.lower(), f"{text!r} does not say {part!r}"


@pytest.mark.parametrize("program", EVERY)
def test_help_is_the_usage(program):
    for words in (["--help"], ["-h"], ["--port=0", "--help"]):
        done = run(own(program), *words, limit_s=15)
        assert (done.returncode, done.stderr) == (0, ""), f"how {words} ends"
        assert done.stdout.startswith(f"usage: {program}") and done.stdout.count("\n") == 1, f"{words} prints {done.stdout!r}"


@pytest.mark.parametrize("program", EVERY)
def test_an_unknown_option(program):
    refused([program, "--colour=red"], "--colour", f"usage: {program}")
    assert run(own(program), "--colour=red").returncode == 2, "the exit code"


@pytest.mark.parametrize("program", SERVERS)
def test_a_word_too_many(program):
    refused([program, "--port=0", "surplus"], "surplus")


@pytest.mark.parametrize("program", SERVERS)
def test_a_port_that_is_none(program):
    for port in ("seven", "65536", "-1", ""):
        refused([program, f"--port={port}"], "port", port)


@pytest.mark.parametrize("program", SERVERS)
def test_a_port_that_is_taken(program):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused([program, f"--port={port}"], str(port), "in use")


@pytest.mark.parametrize("program", SERVERS)
def test_a_backend_that_is_none(program):
    refused([program, "--port=0"], "CORACLE_BACKEND", "quantum", "epoll", env={"CORACLE_BACKEND": "quantum"})


def test_a_database_that_cannot_be_opened(tmp_path):
    refused(["movie_server", "--port=0", "--db", f"{tmp_path}/none/movies.db"], "none/movies.db")
    path = tmp_path / "text.db"
    path.write_text("this is no database " * 100)
    refused(["movie_server", "--port=0", "--db", path], "text.db")


def test_a_page_that_is_missing():
    refused(["movie_web_server", "--port=0", "--page", "/nowhere/page"], "/nowhere/page")


@pytest.mark.parametrize("program", CLIENTS)
def test_an_address_that_is_missing(program):
    refused([program], "address" if program != "interop_client" else "--server_port")


@pytest.mark.parametrize("program", [name for name in CLIENTS if name != "interop_client"])
def test_an_address_that_is_none(program):
    refused([program, "127.0.0.1:port"], "127.0.0.1:port")


def test_a_test_case_that_is_none():
    refused(["interop_client", "--server_host=127.0.0.1", "--server_port=1", "--test_case=telepathy"], "telepathy", "empty_unary")


def test_files_that_are_missing():
    missing = ("--tls_cert_file=/nowhere/a.pem", "--tls_key_file=/nowhere/a.key")
    refused(["interop_server", "--port=0", "--use_tls=true"], "tls_cert_file")
    refused(["interop_server", "--port=0", "--use_tls=true", *missing], "/nowhere/a.pem")
    refused(["movie_server", "--port=0", "--cert", "/nowhere/a.pem"], "--key")
    refused(["movie_server", "--port=0", "--cert", "/nowhere/a.pem", "--key", "/nowhere/a.key"], "/nowhere/a.pem")
    refused(["movie_client", "127.0.0.1:1", "--ca", "/nowhere/ca.pem"], "/nowhere/ca.pem")
