"""The movie service in two languages at once. A language says how its programs start:

    program(side, scratch)   the words before their arguments, for "client" and "server"
    client_words(address, made), server_words(made)   their arguments; made: Certificates, or None for plaintext
    env         what they find in their environment
    ends_with   the server's exit code after SIGTERM
"""

import shutil

import pytest

from programs import Server, own, run

LIMIT_S = 60  # a Java machine on a busy computer


def command(name):
    path = shutil.which(name)
    if not path:
        pytest.skip(f"there is no {name}; scripts/packages.sh peers installs it")
    return path


class Positional:
    """Programs without options: client ADDRESS [CA], server [CERTIFICATE KEY]."""

    env = {}
    ends_with = 0

    def client_words(self, address, made):
        return address, *((made.ca,) if made else ())

    def server_words(self, made):
        return (made.server, made.server_key) if made else ()


def their_client(language, scratch, made, host="127.0.0.1"):
    program = language.program("client", scratch)
    flags = ("--cert", made.server, "--key", made.server_key) if made else ()
    with Server(own("movie_server"), "--port=0", *flags) as server:
        done = run(*program, *language.client_words(f"{host}:{server.port}", made), env=language.env, limit_s=LIMIT_S)
        assert done.returncode == 0, f"the client's exit code ({(done.stdout + done.stderr)[-400:]})"
        assert "all calls returned what was expected" in done.stdout, f"the client says {done.stdout[-200:]!r}"
        assert server.stop() == 0, "the server's exit code"


def their_server(language, scratch, made):
    with Server(*language.program("server", scratch), *language.server_words(made), env=language.env) as server:
        done = run(own("movie_client"), server.address, *(("--ca", made.ca) if made else ()), limit_s=LIMIT_S)
        assert done.returncode == 0, f"the client's exit code ({(done.stdout + done.stderr)[-400:]})"
        assert "all calls returned what was expected" in done.stdout, f"the client says {done.stdout[-200:]!r}"
        assert server.stop() == language.ends_with, "the server's exit code"
