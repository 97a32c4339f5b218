#!/usr/bin/env python3
"""The movie service on grpc-js and in Ruby, their clients against our server and ours against their servers, plaintext and
TLS. Each drives all four kinds of call and an expired deadline."""

import pathlib
import subprocess
import tempfile

import stage
from certificates import Certificates
from movie_pairs import Positional, both_ways, command
from stage import Cases, Missing, equal, run

PROGRAMS = stage.ROOT / "tests/interop/peers"
MODULES = stage.PEERS.parent / "js/node_modules"


class Node(Positional):
    env = {"NODE_PATH": str(MODULES)}

    def program(self, side, _):
        if not MODULES.exists():
            raise Missing("grpc-js is not installed; ./dev peers would")
        return command("node"), PROGRAMS / f"movie_{side}.js", stage.MOVIE_PROTO


class Ruby(Positional):
    def program(self, side, scratch):
        ruby = command("ruby")
        if subprocess.run([ruby, "-e", "require 'grpc'"], capture_output=True).returncode != 0:
            raise Missing("Ruby has no grpc; scripts/packages.sh peers would install it")
        equal(run(command("protoc"), f"-I{stage.MOVIE_PROTO.parent}", f"--ruby_out={scratch}", stage.MOVIE_PROTO).returncode,
              0, "protoc's exit code")
        return ruby, PROGRAMS / f"movie_{side}.rb", scratch


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        scratch, made = pathlib.Path(folder), Certificates(folder)
        both_ways(cases, "GrpcJs", Node(), scratch, made)
        both_ways(cases, "GrpcRuby", Ruby(), scratch, made)
    cases.end()


if __name__ == "__main__":
    main()
