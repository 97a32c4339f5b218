"""The program coracle as a test runs it: ls, describe, call and health."""

import json

from programs import ROOT, own, run

SERVICE = "movie.MovieService"
GREETER_PROTO = ROOT / "examples/01_greeter/greeter.proto"
UNAVAILABLE, USAGE, FAILURE = 14, 64, 65


def coracle(*words, data=None, code=0):
    done = run(own("coracle"), *words, data=data)
    assert done.returncode == code, f"the exit code of {words[0]} ({done.stderr.strip()[-300:]})"
    return done


def call(server, method, *words, data=None, code=0):
    return coracle("call", server.address, "-p", method, *words, data=data, code=code)


def objects(text):
    return [json.loads(line) for line in text.splitlines()]
