"""The movie example in Python, in Java and on Spring Boot, its clients against our server and ours against its servers,
plaintext and TLS, as somebody comes to them from the Movie tutorial."""

import signal
import sys

import pytest

import movie_stubs
import programs
from certificates import TutorialCertificates
from movie_pairs import Positional, command, their_client, their_server
from programs import Server, own, run

PYTHON_EXAMPLE = programs.MOVIE_PROTO.parent / "python"
INSTALLED = programs.PEERS.parent  # beside the programs lies what Maven built
JVM_ENDED = 128 + signal.SIGTERM  # so says a Java machine whose shutdown hooks have run
QUICKLY = "-XX:TieredStopAtLevel=1"  # a program that lives for a second is not worth much compiling


class Python:
    ends_with = 0

    def __init__(self, stubs):
        self.stubs = stubs
        self.env = {"PYTHONPATH": str(stubs)}

    def program(self, side, _):
        pytest.importorskip("grpc_tools", reason="./dev peers installs it")
        if not self.stubs.exists():
            self.stubs.mkdir()
            movie_stubs.generate(self.stubs)
        return sys.executable, "-B", PYTHON_EXAMPLE / f"{side}.py"

    def client_words(self, address, made):
        return address, *(("--ca", made.ca) if made else ())

    def server_words(self, made):
        return ("--cert", made.server, "--key", made.server_key) if made else ()


class Java(Positional):
    ends_with = JVM_ENDED

    def program(self, side, _):
        folder = INSTALLED / "java"
        if not (folder / "lib").exists():
            pytest.skip("the programs on grpc-java are not built; ./dev peers installs them")
        port = ("0",) if side == "server" else ()
        return command("java"), QUICKLY, "-cp", f"{folder}/classes:{folder}/lib/*", f"movie.Movie{side.capitalize()}", *port


class SpringBoot:
    env = {}
    ends_with = JVM_ENDED

    def program(self, side, _):
        jar = INSTALLED / "spring_boot/app/movie.jar"
        if not jar.exists():
            pytest.skip("the application on Spring Boot is not built; ./dev peers installs them")
        return command("java"), QUICKLY, "-jar", jar

    def client_words(self, address, made):
        tls = (f"--ca={made.ca}",) if made else ()
        return f"--spring.profiles.active={'client,tls' if made else 'client'}", f"--address={address}", *tls

    def server_words(self, made):
        tls = (f"--cert={made.server}", f"--key={made.server_key}") if made else ()
        return f"--spring.profiles.active={'server,tls' if made else 'server'}", "--port=0", *tls


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def languages(scratch):
    return {"python": Python(scratch / "stubs"), "java": Java(), "spring_boot": SpringBoot()}


@pytest.fixture(params=["python", "java", "spring_boot"])
def language(request, languages):
    return languages[request.param]


@pytest.fixture(params=["plaintext", "tls"])
def made(request, certificates):
    """The certificates over TLS, else None."""
    return certificates if request.param == "tls" else None


def test_its_client_passes_against_our_server(language, scratch, made):
    their_client(language, scratch, made)


def test_our_client_passes_against_its_server(language, scratch, made):
    their_server(language, scratch, made)


@pytest.mark.parametrize("name", ["python", "java"])
def test_its_client_fails_where_there_is_no_server(name, languages, scratch):
    language = languages[name]
    with Server(own("movie_server"), "--port=0") as server:
        address = server.address
    done = run(*language.program("client", scratch), *language.client_words(address, None), env=language.env)
    assert done.returncode == 1, "the client's exit code"
    assert "UNAVAILABLE" in done.stderr, f"it says {done.stdout[-200:]!r} {done.stderr[-200:]!r}"


@pytest.fixture(scope="module")
def tutorials(tmp_path_factory):
    """Certificates that are made out to localhost alone."""
    return TutorialCertificates(tmp_path_factory.mktemp("tutorial"))


def test_java_connects_with_the_tutorials_certificates(scratch, tutorials):
    their_client(Java(), scratch, tutorials, "localhost")


def test_our_client_says_how_to_fix_the_tutorials_certificates(tutorials):
    made = tutorials
    with Server(own("movie_server"), "--port=0", "--cert", made.server, "--key", made.server_key) as server:
        done = run(own("movie_client"), f"localhost:{server.port}", "--ca", made.ca)
        assert done.returncode == 1, "the client's exit code"
        said = done.stderr.strip()
        assert "\n" not in said and "UNAVAILABLE" in said, f"it says {said!r}"
        assert "subjectAltName" in said, f"nothing of a subjectAltName in {said!r}"  # and, before OpenSSL 3.5, of the CA's name
        server.expect_alive()
