#!/usr/bin/env python3
"""The movie example in Python, in Java and on Spring Boot, its clients against our server and ours against its servers,
plaintext and TLS, as somebody comes to them from the Movie tutorial."""

import pathlib
import signal
import tempfile

import movie_stubs
import stage
from certificates import Certificates, TutorialCertificates
from movie_pairs import Positional, both_ways, command, their_client
from stage import Cases, Missing, Server, equal, expect, own, run

PYTHON_EXAMPLE = stage.MOVIE_PROTO.parent / "python"
INSTALLED = stage.PEERS.parent  # beside the programs lies what Maven built
JVM_ENDED = 128 + signal.SIGTERM  # so says a Java machine whose shutdown hooks have run
QUICKLY = "-XX:TieredStopAtLevel=1"  # a program that lives for a second is not worth much compiling


class Python:
    ends_with = 0

    def __init__(self, stubs):
        self.stubs = stubs
        self.env = {"PYTHONPATH": str(stubs)}

    def program(self, side, _):
        if not stage.PYTHON.exists():
            raise Missing("grpcio is not installed; ./dev peers would")
        if not self.stubs.exists():
            self.stubs.mkdir()
            movie_stubs.generate(self.stubs)
        return stage.PYTHON, "-B", PYTHON_EXAMPLE / f"{side}.py"

    def client_words(self, address, made):
        return address, *(("--ca", made.ca) if made else ())

    def server_words(self, made):
        return ("--cert", made.server, "--key", made.server_key) if made else ()


class Java(Positional):
    ends_with = JVM_ENDED

    def program(self, side, _):
        folder = INSTALLED / "java"
        if not (folder / "lib").exists():
            raise Missing("the programs on grpc-java are not built; ./dev peers would")
        port = ("0",) if side == "server" else ()
        return command("java"), QUICKLY, "-cp", f"{folder}/classes:{folder}/lib/*", f"movie.Movie{side.capitalize()}", *port


class SpringBoot:
    env = {}
    ends_with = JVM_ENDED

    def program(self, side, _):
        jar = INSTALLED / "spring_boot/app/movie.jar"
        if not jar.exists():
            raise Missing("the application on Spring Boot is not built; ./dev peers would")
        return command("java"), QUICKLY, "-jar", jar

    def client_words(self, address, made):
        tls = (f"--ca={made.ca}",) if made else ()
        return f"--spring.profiles.active={'client,tls' if made else 'client'}", f"--address={address}", *tls

    def server_words(self, made):
        tls = (f"--cert={made.server}", f"--key={made.server_key}") if made else ()
        return f"--spring.profiles.active={'server,tls' if made else 'server'}", "--port=0", *tls


def nobody_serves(language, scratch):
    with Server(own("movie_server"), "--port=0") as server:
        address = server.address
    done = run(*language.program("client", scratch), *language.client_words(address, None), env=language.env)
    equal(done.returncode, 1, "the client's exit code")
    expect("UNAVAILABLE" in done.stderr, f"it says {done.stdout[-200:]!r} {done.stderr[-200:]!r}")


def our_client_says_what_to_mend(made):
    with Server(own("movie_server"), "--port=0", "--cert", made.server, "--key", made.server_key) as server:
        done = run(own("movie_client"), f"localhost:{server.port}", "--ca", made.ca)
        equal(done.returncode, 1, "the client's exit code")
        said = done.stderr.strip()
        expect("\n" not in said and "UNAVAILABLE" in said, f"it says {said!r}")
        expect("subjectAltName" in said, f"nothing of a subjectAltName in {said!r}")  # and, before OpenSSL 3.5, of the CA's name
        server.expect_alive()


def with_the_tutorials_certificates(cases, scratch):
    """They are made out to localhost alone."""
    folder = scratch / "tutorial"
    folder.mkdir()
    made = TutorialCertificates(folder)
    cases.run("Tutorial.JavaConnectsWithItsCertificates", their_client, Java(), scratch, made, "localhost")
    cases.run("Tutorial.OurClientSaysWhatToMend", our_client_says_what_to_mend, made)


def main():
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        scratch, made = pathlib.Path(folder), Certificates(folder)
        for name, language in (("Python", Python(scratch / "stubs")), ("Java", Java())):
            both_ways(cases, name, language, scratch, made)
            cases.run(f"{name}.ItsClientFailsWhereNobodyServes", nobody_serves, language, scratch)
        both_ways(cases, "SpringBoot", SpringBoot(), scratch, made)
        with_the_tutorials_certificates(cases, scratch)
    cases.end()


if __name__ == "__main__":
    main()
