#!/usr/bin/env python3
"""The movie service in other languages: grpc-js, grpc-java and Ruby, their clients against our server and ours against
their servers, plaintext and TLS. Each drives all four kinds of call and an expired deadline."""

import pathlib
import shutil
import subprocess
import tempfile

import stage
from certificates import Certificates, TutorialCertificates
from stage import Cases, Missing, Server, equal, expect, own, run

PROGRAMS = stage.ROOT / "tests/interop/peers"
INSTALLED = stage.PEERS.parent  # beside the programs lie the packages of other languages
LIMIT_S = 60  # a Java machine on a busy computer


def command(name):
    path = shutil.which(name)
    if not path:
        raise Missing(f"there is no {name}; scripts/packages.sh peers would install it")
    return path


class Node:
    env = {"NODE_PATH": str(INSTALLED / "js/node_modules")}

    def program(self, side, _):
        if not (INSTALLED / "js/node_modules").exists():
            raise Missing("grpc-js is not installed; ./dev peers would")
        return command("node"), PROGRAMS / f"movie_{side}.js", stage.MOVIE_PROTO


class Java:
    env = {}

    def program(self, side, _):
        classes = INSTALLED / "java/classes"
        if not classes.exists():
            raise Missing("the programs on grpc-java are not built; ./dev peers would")
        return command("java"), "-cp", f"{classes}:{INSTALLED}/java/lib/*", f"movie.Movie{side.capitalize()}"


class Ruby:
    env = {}

    def program(self, side, scratch):
        ruby = command("ruby")
        if subprocess.run([ruby, "-e", "require 'grpc'"], capture_output=True).returncode != 0:
            raise Missing("Ruby has no grpc; scripts/packages.sh peers would install it")
        equal(run(command("protoc"), f"-I{stage.MOVIE_PROTO.parent}", f"--ruby_out={scratch}", stage.MOVIE_PROTO).returncode,
              0, "protoc's exit code")
        return ruby, PROGRAMS / f"movie_{side}.rb", scratch


LANGUAGES = {"GrpcJs": Node(), "GrpcJava": Java(), "GrpcRuby": Ruby()}


def their_client(language, scratch, made=None):
    program = language.program("client", scratch)
    flags = ("--cert", made.server, "--key", made.server_key) if made else ()
    with Server(own("movie_server"), "--port=0", *flags) as server:
        done = run(*program, server.address, *((made.ca,) if made else ()), env=language.env, limit_s=LIMIT_S)
        equal(done.returncode, 0, f"the client's exit code ({(done.stdout + done.stderr)[-400:]})")
        server.expect_alive()
        equal(server.stop(), 0, "the server's exit code")


def their_server(language, scratch, made=None):
    files = (made.server, made.server_key) if made else ()
    with Server(*language.program("server", scratch), *files, env=language.env) as server:
        done = run(own("movie_client"), server.address, *(("--ca", made.ca) if made else ()), limit_s=LIMIT_S)
        equal(done.returncode, 0, f"the client's exit code ({(done.stdout + done.stderr)[-400:]})")
        expect("everything was right" in done.stdout, f"the client says {done.stdout[-200:]!r}")
        server.expect_alive()


def tutorial(scratch):
    folder = scratch / "tutorial"
    folder.mkdir(exist_ok=True)
    return TutorialCertificates(folder)


def localhost(server):
    """The tutorial's certificates are made out to localhost alone."""
    return f"localhost:{server.port}"


def java_takes_the_tutorials_certificates(scratch):
    made = tutorial(scratch)
    java = LANGUAGES["GrpcJava"]
    with Server(own("movie_server"), "--port=0", "--cert", made.server, "--key", made.server_key) as server:
        done = run(*java.program("client", scratch), localhost(server), made.ca, limit_s=LIMIT_S)
        equal(done.returncode, 0, f"the client's exit code ({(done.stdout + done.stderr)[-400:]})")


def our_client_says_what_to_mend(scratch):
    made = tutorial(scratch)
    with Server(own("movie_server"), "--port=0", "--cert", made.server, "--key", made.server_key) as server:
        done = run(own("movie_client"), localhost(server), "--ca", made.ca)
        equal(done.returncode, 1, "the client's exit code")
        said = done.stderr.strip()
        expect("\n" not in said and "UNAVAILABLE" in said, f"it says {said!r}")
        for mend in ("a name of its own", "subjectAltName"):
            expect(mend in said, f"nothing of {mend!r} in {said!r}")
        server.expect_alive()


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        made = Certificates(folder)
        for name, language in LANGUAGES.items():
            cases.run(f"{name}.ItsClientPassesAgainstOurServer", their_client, language, scratch)
            cases.run(f"{name}.OurClientPassesAgainstItsServer", their_server, language, scratch)
            cases.run(f"{name}.ItsClientPassesAgainstOurServerOverTls", their_client, language, scratch, made)
            cases.run(f"{name}.OurClientPassesAgainstItsServerOverTls", their_server, language, scratch, made)
        cases.run("Tutorial.JavaConnectsWithItsCertificates", java_takes_the_tutorials_certificates, scratch)
        cases.run("Tutorial.OurClientSaysWhatToMend", our_client_says_what_to_mend, scratch)
    cases.end()


if __name__ == "__main__":
    main()
