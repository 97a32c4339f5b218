"""coracle's ADDRESS: where none is needed, as a URL, and what is said of a wrong one or of wrong options beside it."""

import re

import pytest

from coracle_command import FAILURE, GREETER_PROTO, SERVICE, UNAVAILABLE, USAGE, coracle
from certificates import Certificates
from programs import START_LIMIT_S, Background, own, run


@pytest.fixture(scope="module")
def server(movie_server):
    return movie_server


def test_local_definitions_need_no_address(tmp_path):
    protoset = tmp_path / "greeter.protoset"
    made = run("protoc", "-I", GREETER_PROTO.parent, "--include_imports", f"--descriptor_set_out={protoset}", GREETER_PROTO)
    assert made.returncode == 0, "protoc's exit code"
    for files in (("--protoset", protoset), ("--proto", GREETER_PROTO)):
        for words in ((*files, "helloworld.HelloReply"), ("nowhere:1", *files, "helloworld.HelloReply"), ("helloworld.HelloReply", *files)):
            assert "string message = 1;" in coracle("describe", *words).stdout, f"{words} does not describe it"
        two = coracle("describe", *files, "helloworld.HelloReply", "helloworld.HelloRequest").stdout
        assert "string message = 1;" in two and "string name = 1;" in two, f"it describes {two!r}"
        coracle("describe", *files, "no.Such", code=FAILURE)
        assert "rpc SayHello" in coracle("describe", *files).stdout, "all services are not described"
        assert coracle("ls", *files).stdout == "helloworld.Greeter\n", "the services"
        assert coracle("ls", *files, "Greeter").stdout == "helloworld.Greeter/SayHello\n", "the methods"
        coracle("ls", *files, "Greeter", "Greeter", code=USAGE)
    for command in ("ls", "describe"):
        assert "ADDRESS is required" in coracle(command, code=USAGE).stderr, "the missing address is not named"


def test_an_address_may_be_a_url(server):
    for url in (f"http://{server.address}", f"HTTP://{server.address}/"):
        assert SERVICE in coracle("ls", url).stdout, f"{url} has no services"
        coracle("ls", url, "-p")
        coracle("health", url)
    for words, text in (((f"https://{server.address}", "-p"), "https:// requires TLS"), ((f"http://{server.address}", "--no-verify"), "contradict"),
                        ((f"http://{server.address}/movie.MovieService", ), "more than http://host:port"),
                        ((f"https://me@{server.address}", ), "more than http://host:port"), (("http://", ), "more than http://host:port"),
                        ((f"ftp://{server.address}", ), "unknown scheme")):
        done = coracle("ls", *words, code=USAGE)
        assert text in done.stderr and "::" not in done.stderr, f"{words}: it says {done.stderr!r}"
    assert "does it use TLS" in coracle("ls", f"https://{server.address}", code=UNAVAILABLE).stderr, "there is no hint"


def test_a_name_that_is_unknown_has_no_hint_about_tls():
    for words in (("ls", "nohost.invalid:1", "-p"), ("call", "nohost.invalid:1", "SayHello", "--proto", GREETER_PROTO)):
        done = coracle(*words, code=UNAVAILABLE)
        assert "cannot resolve nohost.invalid:1" in done.stderr and "hint" not in done.stderr, f"it says {done.stderr!r}"


def test_swapped_arguments_are_recognised(tmp_path):
    for words in (("call", "AddMovie", "-d", "{}", "localhost:50051"), ("load", "AddMovie", "http://localhost:50051"), ("describe", "AddMovie", "[::1]:50051"),
                  ("ls", "AddMovie", "unix:/path"), ("replay", "AddMovie", "localhost:50051"), ("health", "AddMovie", "localhost:50051")):
        done = coracle(*words, "-p", code=USAGE)
        assert done.stderr == f"coracle: error: ADDRESS comes first: '{words[-1]}' is an address, and 'AddMovie' is not\n"


def test_the_console_says_that_a_server_does_not_answer(server):
    with Background(own("coracle"), "console", "127.0.0.1:1", "-p", "--port", "0") as console:
        console.wait_for(re.compile(r"coracle: warning: 127\.0\.0\.1:1 does not answer yet"), START_LIMIT_S)
    with Background(own("coracle"), "console", server.address, "-p", "--port", "0") as console:
        console.wait_for(re.compile("Ctrl-C ends it"), START_LIMIT_S)
        assert console.stop() == 0
        assert not any("does not answer" in line for line in console.all_said())


def test_errors_name_options_and_no_functions(tmp_path):
    locked = tmp_path / "locked.key"
    made = run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:x", "-out", locked)
    assert made.returncode == 0, "openssl's exit code"
    certificates = Certificates(tmp_path)
    for words, text in ((("nowhere//x", ), "dns:///host:port"), (("x:1", "--cert", certificates.client, "--key", locked), "does not support passphrases"),
                        (("x:1", "--ca", "/no/such"), "/no/such"), (("unix://host/path", ), "unix:/path")):
        done = run(own("coracle"), "call", *words, "SayHello", "--proto", GREETER_PROTO)
        assert done.returncode in (UNAVAILABLE, USAGE, FAILURE), f"{words} ends with {done.returncode}"
        assert text in done.stderr, f"{text!r} is not in {done.stderr!r}"
        assert "::" not in done.stderr and "()" not in done.stderr, f"{done.stderr!r} names a function"
