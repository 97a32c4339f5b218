#!/usr/bin/env python3
"""coracle where its standard files are closed, full or left by their reader: it ends, and says what was lost."""

import os
import subprocess

import stage
from stage import Cases, Server, Wrong, equal, expect, own


def in_a_shell(server, words, around):
    """What `coracle` does in a shell's redirections: (exit code, stdout, stderr)."""
    line = around.replace("coracle", f'"{own("coracle")}" {words.replace("ADDRESS", server.address)}')
    try:
        # SIGPIPE is ignored, as below many a supervisor.
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=stage.STOP_LIMIT_S, restore_signals=False)
    except subprocess.TimeoutExpired:
        raise Wrong(f"`{line}` does not end") from None
    return done.returncode, done.stdout, done.stderr


def a_closed_input_is_empty(server):
    code, out, err = in_a_shell(server, "call ADDRESS -p AddMultipleMovies", "coracle <&-")
    equal((code, out.strip(), err), (0, "{}", ""), "what comes of no requests")
    code, out, _ = in_a_shell(server, "call ADDRESS -p AddMovie -d '{\"title\": \"x\"}'", "coracle <&- 2>&-")
    expect(code == 0 and "movieId" in out, f"it ends with {code} and prints {out!r}")


def main():
    cases = Cases()
    with Server(own("movie_server"), "--port=0") as server:
        cases.each("Streams", (a_closed_input_is_empty,), server)
    cases.end()


if __name__ == "__main__":
    os.environ.pop("CORACLE_LOG", None)
    main()
