#!/usr/bin/env python3
"""Where the results of coracle load go: files that keep what they hold until there is something new, and one standard output."""

import json
import os
import pathlib
import tempfile

from load import FAILURE, GREET, USAGE, adds_up, load
from stage import Cases, Server, equal, expect, own, run

OPTIONS = ("--json", "--csv", "--report")


def a_run_that_fails_leaves_the_old_results(folder, _):
    for option in OPTIONS:
        old, new = folder / f"old{option}", folder / f"new{option}"
        old.write_text("of yesterday")
        for file in (old, new):
            done = run(own("coracle"), "load", "127.0.0.1:1", "-p", "a.B/C", "--raw", "/dev/null", "-n", "1", option, file)
            equal(done.returncode, FAILURE, "the exit code")
        equal(old.read_text(), "of yesterday", "the old results")
        expect(not new.exists(), "there is an empty file")


def new_results_take_the_place_of_old_ones(folder, server):
    file, link = folder / "results", folder / "link"
    file.write_text("x" * 1_000_000)
    os.chmod(file, 0o640)
    link.symlink_to("results")
    load(server, *GREET, "-n", "20", "--json", link)
    adds_up(json.loads(file.read_text())["runs"][0], 20)
    expect(link.is_symlink(), "the link has been replaced")
    equal(file.stat().st_mode & 0o777, 0o640, "the mode")
    load(server, *GREET, "-n", "20", "--json", "/dev/null", "--csv", folder / "rows")
    expect((folder / "rows").read_text().count("\n") > 1, "there are no rows")


def what_cannot_be_written_is_told_before_the_run(folder, _):
    for file in (folder / "nowhere" / "x", folder):
        done = run(own("coracle"), "load", "127.0.0.1:1", "-p", "a.B/C", "--raw", "/dev/null", "-n", "1", "--report", file)
        equal(done.returncode, FAILURE, "the exit code")
        expect(f"the file {file} cannot be written" in done.stderr, f"it says {done.stderr!r}")


def two_results_never_share_a_place(folder, server):
    for first, second in (OPTIONS[:2], OPTIONS[::2], OPTIONS[1:]):
        for place in ("-", folder / "both"):
            done = load(server, *GREET, "-n", "1", first, place, second, place, code=USAGE)
            equal(done.stdout, "", "what is printed")
            expect("is used twice" in done.stderr, f"it says {done.stderr!r}")
    expect(not (folder / "both").exists(), "a file has been made")


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder, Server(own("greeter_server"), "127.0.0.1:0") as server:
        cases.each("LoadResults", [a_run_that_fails_leaves_the_old_results, new_results_take_the_place_of_old_ones,
                                   what_cannot_be_written_is_told_before_the_run, two_results_never_share_a_place], pathlib.Path(folder), server)
    cases.end()


if __name__ == "__main__":
    main()
