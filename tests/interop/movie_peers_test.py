"""The movie service on grpc-js and in Ruby, their clients against our server and ours against their servers, plaintext and
TLS. Each drives all four kinds of call and an expired deadline."""

import subprocess

import pytest

import programs
from movie_pairs import Positional, command, their_client, their_server
from programs import run

PROGRAMS = programs.ROOT / "tests/interop/peers"
MODULES = programs.PEERS.parent / "js/node_modules"


class Node(Positional):
    env = {"NODE_PATH": str(MODULES)}

    def program(self, side, _):
        if not MODULES.exists():
            pytest.skip("grpc-js is not installed; ./dev peers installs it")
        return command("node"), PROGRAMS / f"movie_{side}.js", programs.MOVIE_PROTO


class Ruby(Positional):
    def program(self, side, scratch):
        ruby = command("ruby")
        if subprocess.run([ruby, "-e", "require 'grpc'"], capture_output=True).returncode != 0:
            pytest.skip("Ruby has no grpc; scripts/packages.sh peers installs it")
        assert run(command("protoc"), f"-I{programs.MOVIE_PROTO.parent}", f"--ruby_out={scratch}", programs.MOVIE_PROTO).returncode == 0, \
            "protoc's exit code"
        return ruby, PROGRAMS / f"movie_{side}.rb", scratch


@pytest.fixture(params=[Node, Ruby], ids=["grpc_js", "ruby"])
def language(request):
    return request.param()


@pytest.fixture(params=["plaintext", "tls"])
def made(request, certificates):
    """The certificates over TLS, else None."""
    return certificates if request.param == "tls" else None


def test_its_client_passes_against_our_server(language, tmp_path, made):
    their_client(language, tmp_path, made)


def test_our_client_passes_against_its_server(language, tmp_path, made):
    their_server(language, tmp_path, made)
