#!/usr/bin/env python3
"""coracle's ADDRESS: where none is needed, as a URL, and what is said of a wrong one or of wrong options beside it."""

import os
import pathlib
import tempfile

from call import FAILURE, GREETER_PROTO, SERVICE, UNAVAILABLE, USAGE, coracle
from certificates import Certificates
from stage import Cases, Server, equal, expect, own, run


def local_definitions_need_no_address():
    with tempfile.TemporaryDirectory() as folder:
        protoset = pathlib.Path(folder, "greeter.protoset")
        made = run("protoc", "-I", GREETER_PROTO.parent, "--include_imports", f"--descriptor_set_out={protoset}", GREETER_PROTO)
        equal(made.returncode, 0, "protoc's exit code")
        for files in (("--protoset", protoset), ("--proto", GREETER_PROTO)):
            for words in ((*files, "helloworld.HelloReply"), ("nowhere:1", *files, "helloworld.HelloReply"), ("helloworld.HelloReply", *files)):
                expect("string message = 1;" in coracle("describe", *words).stdout, f"{words} does not describe it")
            two = coracle("describe", *files, "helloworld.HelloReply", "helloworld.HelloRequest").stdout
            expect("string message = 1;" in two and "string name = 1;" in two, f"it describes {two!r}")
            coracle("describe", *files, "no.Such", code=FAILURE)
            expect("rpc SayHello" in coracle("describe", *files).stdout, "all services are not described")
            equal(coracle("ls", *files).stdout, "helloworld.Greeter\n", "the services")
            equal(coracle("ls", *files, "Greeter").stdout, "helloworld.Greeter/SayHello\n", "the methods")
            coracle("ls", *files, "Greeter", "Greeter", code=USAGE)
    for command in ("ls", "describe"):
        expect("ADDRESS is required" in coracle(command, code=USAGE).stderr, "the missing address is not named")


def an_address_may_be_a_url(server):
    for url in (f"http://{server.address}", f"HTTP://{server.address}/"):
        expect(SERVICE in coracle("ls", url).stdout, f"{url} has no services")
        coracle("ls", url, "-p")
        coracle("health", url)
    for words, text in (((f"https://{server.address}", "-p"), "https:// requires TLS"), ((f"http://{server.address}", "--no-verify"), "contradict"),
                        ((f"http://{server.address}/movie.MovieService", ), "more than http://host:port"),
                        ((f"https://me@{server.address}", ), "more than http://host:port"), (("http://", ), "more than http://host:port"),
                        ((f"ftp://{server.address}", ), "unknown scheme")):
        done = coracle("ls", *words, code=USAGE)
        expect(text in done.stderr and "::" not in done.stderr, f"{words}: it says {done.stderr!r}")
    expect("does it use TLS" in coracle("ls", f"https://{server.address}", code=UNAVAILABLE).stderr, "there is no hint")


def errors_name_options_and_no_functions():
    with tempfile.TemporaryDirectory() as folder:
        locked = pathlib.Path(folder, "locked.key")
        made = run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:x", "-out", locked)
        equal(made.returncode, 0, "openssl's exit code")
        certificates = Certificates(folder)
        for words, text in ((("nowhere//x", ), "dns:///host:port"), (("x:1", "--cert", certificates.client, "--key", locked), "does not support passphrases"),
                            (("x:1", "--ca", "/no/such"), "/no/such"), (("unix://host/path", ), "unix:/path")):
            done = run(own("coracle"), "call", *words, "SayHello", "--proto", GREETER_PROTO)
            expect(done.returncode in (UNAVAILABLE, USAGE, FAILURE), f"{words} ends with {done.returncode}")
            expect(text in done.stderr, f"{text!r} is not in {done.stderr!r}")
            expect("::" not in done.stderr and "()" not in done.stderr, f"{done.stderr!r} names a function")


def main():
    cases = Cases()
    with Server(own("movie_server"), "--port=0") as server:
        cases.each("Addresses", (an_address_may_be_a_url,), server)
    cases.each("Addresses", (local_definitions_need_no_address, errors_name_options_and_no_functions))
    cases.end()


if __name__ == "__main__":
    os.environ.pop("CORACLE_LOG", None)
    main()
