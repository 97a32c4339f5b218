"""tests/interop/web_server as tests run it: the movie service over every protocol of the port."""

import re

from programs import MOVIE_PROTO, ROOT, Server, own

RULES = re.search(r'rest_rules = R"\((.*?)\)";', (ROOT / "tests/interop/web_server.cpp").read_text(), re.S)[1]
MOVIES = ("--proto", MOVIE_PROTO)  # the server has no reflection


def web_server(*words):
    return Server(own("web_server"), *words)
