"""coracle with less memory than it needs: one line says so, and the exit code is that of a failure."""

import json
import re

import pytest

from programs import own, run

FAILURE, RESOURCE_EXHAUSTED = 65, 8
TITLE_BYTES = 3 << 20
MOVIES = 4
LIMITS_MB = range(44, 130, 3)  # from just enough for the main thread to enough for all commands


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A request of TITLE_BYTES."""
    path = tmp_path_factory.mktemp("memory") / "movie.json"
    path.write_text(json.dumps({"title": "x" * TITLE_BYTES}))
    return path


@pytest.fixture(scope="module")
def server(movie_server, file):
    for _ in range(MOVIES):
        assert run(own("coracle"), "call", movie_server.address, "-p", "AddMovie", "-d", f"@{file}").returncode == 0
    return movie_server


def limited(limit_mb, *command):
    return run("bash", "-c", 'ulimit -v "$0" && exec "$@"', limit_mb << 10, *command, limit_s=60)


def ends_by_a_line(*command):
    """Under every limit the command succeeds, or one line says that memory has run out. Both have to happen."""
    succeeded = []
    for limit_mb in LIMITS_MB:
        done = limited(limit_mb, own("coracle"), *command)
        said = done.stderr
        succeeded.append(done.returncode == 0)
        if done.returncode == 0:
            continue
        assert done.returncode in (FAILURE, RESOURCE_EXHAUSTED), \
            f"within {limit_mb} MB it ends with {done.returncode}: {said[-300:]!r}"
        words = ("out of memory", "a thread cannot be started", "cannot start a thread") if done.returncode == FAILURE else ("RESOURCE_EXHAUSTED",)
        assert any(word in said for word in words) and re.fullmatch(r"[^\n]*\n(  hint: [^\n]*\n)?", said), f"within {limit_mb} MB it says {said[-300:]!r}"
    assert any(succeeded) and not all(succeeded), f"the limits are not those between failure and success: {succeeded}"


def test_a_reply_that_is_too_large(server):
    ends_by_a_line("call", server.address, "-p", "ListMovies", "-d", "{}")


def test_a_request_that_is_too_large(server, file):
    ends_by_a_line("call", server.address, "-p", "AddMovie", "-d", f"@{file}")


def test_a_load_of_replies_that_are_too_large(server):
    ends_by_a_line("load", server.address, "-p", "ListMovies", "-d", "{}", "-n", "6", "-c", "3")
