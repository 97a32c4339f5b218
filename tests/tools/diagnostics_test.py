"""Errors, warnings and hints on stderr: in colour on a terminal, plain everywhere else."""

import os
import pty
import re
import subprocess

import pytest

import programs
from programs import own, run

RED, YELLOW, PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"
UNREACHABLE = ("call", "127.0.0.1:1", "-p", "a.B/C")


def on_terminal(*words, env=None, folder=None):
    """What comes onto the screen if stderr is a terminal."""
    main, other = pty.openpty()
    given = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")}
    process = subprocess.Popen([str(own("coracle")), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=other,
                               env={**given, "TERM": "xterm", **(env or {})}, cwd=folder)
    os.close(other)
    screen = b""
    try:
        while more := os.read(main, 4096):
            screen += more
    except OSError:  # the end of a terminal
        pass
    os.close(main)
    process.wait(programs.STOP_LIMIT_S)
    return screen.decode().replace("\r\n", "\n")


def test_an_error_and_its_hint_have_colours_on_a_terminal():
    screen = on_terminal(*UNREACHABLE)
    assert screen.startswith(f"coracle: {RED}error:{PLAIN} "), screen
    assert on_terminal("call", "127.0.0.1:1").startswith(f"coracle: {RED}error:{PLAIN} METHOD is required\n"
                                                         f"  {YELLOW}hint:{PLAIN} 'coracle call --help' lists the arguments\n")
    assert f"coracle: {RED}error:{PLAIN} there is no command 'cal'" in on_terminal("cal")


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_they_can_be_switched_off(env):
    screen = on_terminal(*UNREACHABLE, env=env)
    assert screen.startswith("coracle: error: ") and "\x1b" not in screen, screen


def test_a_file_or_a_pipe_has_none():
    done = run(own("coracle"), *UNREACHABLE)
    assert done.stderr.startswith("coracle: error: ") and "\x1b" not in done.stderr, done.stderr
    forced = run(own("coracle"), *UNREACHABLE, env={"CLICOLOR_FORCE": "1"})
    assert forced.stderr.startswith(f"coracle: {RED}error:{PLAIN} "), forced.stderr


def test_a_call_that_fails_has_its_hint_below(movie_server):
    done = run(own("coracle"), "call", movie_server.address, "AddMovie", "--proto", programs.ROOT / "examples/02_movie/movie.proto", "-d", "{}")
    assert re.fullmatch(r"coracle: error: UNAVAILABLE: .*\n  hint: .*TLS.*\n", done.stderr), done.stderr


def test_a_warning_is_yellow(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"targets": {"a": {"address": "http://127.0.0.1:1", "headers": {"x-token": "secret"}}}}')
    file.chmod(0o644)
    screen = on_terminal("ls", "@a", env={"CORACLE_CONFIG": str(file)})
    assert f"coracle: {YELLOW}warning:{PLAIN} other users can read" in screen and f"  {YELLOW}hint:{PLAIN} use chmod 600" in screen, screen


def test_what_a_server_says_brings_no_colours(movie_server):
    screen = on_terminal("call", movie_server.address, "-p", "movie.\x1b[31mNothing/X")
    assert "\x1b[31m" not in screen, screen
