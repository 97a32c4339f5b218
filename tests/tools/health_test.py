"""coracle health --watch: a line for each change, and an exit code when the server has gone."""

import re

import programs
from programs import Background, Server, own

NO_ANSWER = 2


def test_watch_tells_of_the_end():
    with Server(own("movie_server"), "--port=0") as server, Background(own("coracle"), "health", server.address, "-p", "--watch") as watch:
        watch.wait_for(re.compile("^SERVING$"), programs.START_LIMIT_S)
        assert server.stop() == 0, "the server's exit code"
        watch.wait_for(re.compile("^NOT_SERVING$"), programs.STOP_LIMIT_S)
        assert watch.process.wait(programs.STOP_LIMIT_S) == NO_ANSWER, "the exit code"
