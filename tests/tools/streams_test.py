"""coracle where its standard files are closed, full or left by their reader: it ends, and says what was lost."""

import json
import subprocess

import pytest

import programs
from programs import own


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def in_a_shell(server, words, around):
    """What `coracle` does in a shell's redirections: (exit code, stdout, stderr)."""
    line = around.replace("coracle", f'"{own("coracle")}" {words.replace("ADDRESS", server.address)}')
    try:
        # SIGPIPE is ignored, as below many a supervisor.
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=programs.STOP_LIMIT_S, restore_signals=False)
    except subprocess.TimeoutExpired:
        pytest.fail(f"`{line}` does not end")
    return done.returncode, done.stdout, done.stderr


def test_a_closed_input_is_empty(server):
    code, out, err = in_a_shell(server, "call ADDRESS -p AddMultipleMovies", "coracle <&-")
    assert (code, out.strip(), err) == (0, "{}", ""), "what comes of no requests"
    code, out, _ = in_a_shell(server, "call ADDRESS -p AddMovie -d '{\"title\": \"x\"}'", "coracle <&- 2>&-")
    assert code == 0 and "movieId" in out, f"it ends with {code} and prints {out!r}"


FULL = "standard output cannot be written: No space left on device"
ADD = "-d '{\"title\": \"x\"}'"
READER_GONE, FAILURE = 141, 65


def test_output_that_is_lost_is_told(server):
    for words in ("ls ADDRESS -p", "describe ADDRESS -p movie.Movie", f"call ADDRESS -p AddMovie {ADD}", "man",
                  "completion bash"):
        code, _, err = in_a_shell(server, words, "coracle >/dev/full")
        assert code == FAILURE and FULL in err, f"`{words}` ends with {code} and says {err!r}"
        code, _, err = in_a_shell(server, words, "coracle >&-")
        assert code == FAILURE and "cannot be written: Bad file descriptor" in err, f"`{words}` ends with {code} and says {err!r}"
    for words in ("health ADDRESS -p", "--help", "--version"):  # lose it before they are asked, and the reason with it
        code, _, err = in_a_shell(server, words, "coracle >/dev/full")
        assert code == FAILURE and "cannot be written" in err, f"`{words}` ends with {code} and says {err!r}"
    for line in ("ls", "help", 'call AddMovie {"title": "x"}', "call ListMovies {}"):
        code, _, err = in_a_shell(server, "repl ADDRESS -p", f"echo '{line}' | coracle >/dev/full")
        assert code == FAILURE and FULL in err, f"the line `{line}` ends with {code} and says {err!r}"


def test_a_stream_ends_with_its_reader(server):
    """Nothing ends the call's requests, so that it would run on."""
    movie = json.loads(in_a_shell(server, f"call ADDRESS -p AddMovie {ADD}", "coracle")[1])["movieId"]
    with subprocess.Popen([own("coracle"), "call", server.address, "-p", "WatchTogether"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as chat:
        request = json.dumps({"movieId": movie}) + "\n"
        chat.stdin.write(request)
        chat.stdin.flush()
        assert "title" in chat.stdout.readline(), "there is no reply"
        chat.stdout.close()
        chat.stdin.write(request)
        chat.stdin.flush()
        try:
            code = chat.wait(programs.STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            chat.kill()
            pytest.fail("it runs on when its reader has left")
        assert (code, chat.stderr.read()) == (READER_GONE, ""), "how it ends"
