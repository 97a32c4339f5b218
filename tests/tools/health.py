#!/usr/bin/env python3
"""coracle health --watch: a line for each change, and an exit code when the server has gone."""

import re

import stage
from stage import Background, Cases, Server, equal, own

NO_ANSWER = 2


def watch_tells_of_the_end():
    with Server(own("movie_server"), "--port=0") as server, Background(own("coracle"), "health", server.address, "-p", "--watch") as watch:
        watch.wait_for(re.compile("^SERVING$"), stage.START_LIMIT_S)
        equal(server.stop(), 0, "the server's exit code")
        watch.wait_for(re.compile("^NOT_SERVING$"), stage.STOP_LIMIT_S)
        equal(watch.process.wait(stage.STOP_LIMIT_S), NO_ANSWER, "the exit code")


def main():
    cases = Cases()
    cases.each("Health", [watch_tells_of_the_end])
    cases.end()


if __name__ == "__main__":
    main()
