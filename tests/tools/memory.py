#!/usr/bin/env python3
"""coracle with less memory than it needs: one line says so, and the exit code is that of a failure."""

import json
import pathlib
import resource
import subprocess
import tempfile

from stage import Cases, Server, equal, expect, own, run

FAILURE, RESOURCE_EXHAUSTED = 65, 8
TITLE_BYTES = 3 << 20
MOVIES = 4
LIMITS_MB = range(44, 130, 3)  # from just enough for the main thread to enough for all commands


def limited(limit_mb, *command):
    limit = limit_mb << 20
    return subprocess.run([str(word) for word in command], capture_output=True, timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def ends_by_a_line(*command):
    """Under every limit the command succeeds, or one line says that memory has run out. Both have to happen."""
    succeeded = []
    for limit_mb in LIMITS_MB:
        done = limited(limit_mb, own("coracle"), *command)
        said = done.stderr.decode(errors="replace")
        succeeded.append(done.returncode == 0)
        if done.returncode == 0:
            continue
        expect(done.returncode in (FAILURE, RESOURCE_EXHAUSTED), f"within {limit_mb} MB it ends with {done.returncode}: {said[-300:]!r}")
        words = ("out of memory", "thread cannot be started") if done.returncode == FAILURE else ("RESOURCE_EXHAUSTED",)
        expect(any(word in said for word in words) and said.count("\n") == 1, f"within {limit_mb} MB it says {said[-300:]!r}")
    expect(any(succeeded) and not all(succeeded), f"the limits are not those between failure and success: {succeeded}")


def a_reply_that_is_too_large(server, _):
    ends_by_a_line("call", server.address, "-p", "ListMovies", "-d", "{}")


def a_request_that_is_too_large(server, file):
    ends_by_a_line("call", server.address, "-p", "AddMovie", "-d", f"@{file}")


def a_load_of_replies_that_are_too_large(server, _):
    ends_by_a_line("load", server.address, "-p", "ListMovies", "-d", "{}", "-n", "6", "-c", "3")


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder, Server(own("movie_server"), "--port=0") as server:
        file = pathlib.Path(folder, "movie.json")
        file.write_text(json.dumps({"title": "x" * TITLE_BYTES}))
        for _ in range(MOVIES):
            equal(run(own("coracle"), "call", server.address, "-p", "AddMovie", "-d", f"@{file}").returncode, 0, "the exit code of AddMovie")
        cases.each("OutOfMemory", [a_reply_that_is_too_large, a_request_that_is_too_large, a_load_of_replies_that_are_too_large], server, file)
    cases.end()


if __name__ == "__main__":
    main()
