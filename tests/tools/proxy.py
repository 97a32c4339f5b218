#!/usr/bin/env python3
"""coracle proxy between our movie client and server: what it prints and records; coracle replay makes the calls again."""

import pathlib
import re
import tempfile

from stage import Cases, Server, equal, expect, own, run

SERVICE = "movie.MovieService"


def recorded(folder):
    """A run of the movie client through a proxy: what the proxy printed, and its recording."""
    file = pathlib.Path(folder, "calls.jsonl")
    with Server(own("movie_server"), "--port=0") as server:
        with Server(own("coracle"), "proxy", server.address, "-p", "--record", file) as proxy:
            done = run(own("movie_client"), proxy.address)
            equal(done.returncode, 0, f"the client's exit code ({done.stderr.strip()[-300:]})")
            failed = run(own("coracle"), "call", proxy.address, "-p", "AddMovie")
            equal(failed.returncode, 3, "the exit code of a call through the proxy")
            equal(proxy.stop(), 0, "the proxy's exit code")
            return proxy.said, file


def calls_are_printed(said, _):
    text = "\n".join(said)
    for method in ("AddMovie", "AddMultipleMovies", "ListMovies", "WatchTogether"):
        expect(f"/{SERVICE}/{method} from 127.0.0.1:" in text, f"{method} is missing in {text[-600:]!r}")
    expect(re.search(r'#\d+ > \{"title":', text), "no request is printed as JSON")
    expect(re.search(r'#\d+ < \{"movieId":', text), "no reply is printed as JSON")
    expect("INVALID_ARGUMENT: " in text, "the failed call's end is not printed")


def a_replay_makes_the_same_calls(said, file):
    began = len(re.findall(r" from 127\.0\.0\.1:", "\n".join(said)))
    with Server(own("movie_server"), "--port=0") as server:
        done = run(own("coracle"), "replay", server.address, "-p", file, "--speed", "0")
        counted = re.match(r"(\d+) calls, ", done.stdout)
        expect(counted and int(counted[1]) == began, f"it says {done.stdout!r}, there were {began}")
        shelf = run(own("coracle"), "call", server.address, "-p", "ListMovies").stdout.count('"title"')
        expect(shelf > 2, f"the shelf of the other server has {shelf} movies")


def a_replay_tells_what_ends_otherwise(_, file):
    with Server(own("greeter_server"), "--port=0") as server:
        done = run(own("coracle"), "replay", server.address, "-p", file, "--speed", "0")
        equal(done.returncode, 65, "the exit code")
        expect("UNIMPLEMENTED" in done.stderr and "recorded was OK" in done.stderr, f"it says {done.stderr!r}")


def a_file_that_is_no_recording_is_named(_, file):
    broken = file.with_name("broken.jsonl")
    broken.write_text(file.read_text().splitlines()[0] + "\nnonsense\n")
    done = run(own("coracle"), "replay", "127.0.0.1:1", "-p", broken)
    equal(done.returncode, 65, "the exit code")
    expect(f"{broken}:2: this is no line of a recording" in done.stderr, f"it says {done.stderr!r}")


def a_server_without_definitions_is_told_in_bytes():
    with Server(own("greeter_server"), "--port=0") as server, \
            Server(own("coracle"), "proxy", server.address, "-p") as proxy:
        done = run(own("greeter_client"), proxy.address)
        equal(done.returncode, 0, f"the client's exit code ({done.stderr.strip()[-300:]})")
        proxy.stop()
        expect(any(re.search(r"#1 > \d+ bytes$", line) for line in proxy.said), f"it prints {proxy.said}")


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        said, file = [], None

        def through_a_proxy():
            nonlocal said, file
            said, file = recorded(folder)

        cases.run("Proxy.CallsPassThrough", through_a_proxy)
        cases.each("Proxy", (calls_are_printed, a_replay_makes_the_same_calls, a_replay_tells_what_ends_otherwise,
                             a_file_that_is_no_recording_is_named), said, file)
    cases.each("Proxy", (a_server_without_definitions_is_told_in_bytes,))
    cases.end()


if __name__ == "__main__":
    main()
