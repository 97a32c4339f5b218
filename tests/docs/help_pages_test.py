"""docs/help/troubleshooting.md quotes what the programs say."""

import re

import pytest

import programs
from programs import ROOT

PAGE = (ROOT / "docs/help/troubleshooting.md").read_text()
QUOTED = dict(re.findall(r"^<!-- message: (\w+) -->\n```[^\n]*\n(.*?)^```$", PAGE, re.M | re.S))


class Faulty:
    """Programs with the faults of the page. Each function gives what is printed."""

    def __init__(self, certificates, folder):
        self.certificates, self.folder = certificates, folder

    def coracle(self, *arguments):
        done = programs.run(programs.own("coracle"), *arguments)
        assert done.returncode != 0, f"no fault: {done.stdout}"
        return done.stdout + done.stderr

    def ls(self, server, *options):
        return self.coracle("ls", server.address, *options)

    def movies(self, *options):
        return programs.Server(programs.own("movie_server"), "--port=0", *options)

    def secured(self, *options, pair=None):
        certificate, key = pair or (self.certificates.server, self.certificates.server_key)
        return self.movies(f"--cert={certificate}", f"--key={key}", *options)

    def find_package(self):
        (self.folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(lost NONE)\n"
                                                    "find_package(coracle REQUIRED NO_DEFAULT_PATH)\n")
        done = programs.run("cmake", "-S", self.folder, "-B", self.folder / "build")
        assert done.returncode != 0
        return done.stderr

    def refused(self):
        return self.coracle("ls", "127.0.0.1:1", "-p")

    def no_host(self):
        return self.coracle("ls", "nohost.invalid:50051", "-p")

    def tls_to_plaintext(self):
        with self.movies() as server:
            return self.ls(server)

    def plaintext_to_tls(self):
        with self.secured() as server:
            return self.ls(server, "-p")

    def unknown_ca(self):
        with self.secured() as server:
            return self.ls(server)

    def wrong_name(self):
        programs.run("env", "-C", self.folder, programs.own("coracle"), "certs", "other.example")
        made = self.folder / "certs"
        with self.secured(pair=(made / "server.pem", made / "server.key")) as server:
            return self.ls(server, "--ca", made / "ca.pem")

    def no_client_certificate(self):
        with self.secured(f"--client-ca={self.certificates.ca}") as server:
            return self.ls(server, "--ca", self.certificates.ca)

    def no_reflection(self):
        with programs.Server(programs.own("greeter_server"), "127.0.0.1:0") as server:
            return self.ls(server, "-p")

    def unsupported_media_type(self):
        with programs.Server(programs.own("greeter_server"), "127.0.0.1:0") as server:
            return programs.run("curl", "-s", "-d", "{}", "-H", "content-type: application/json",
                                f"http://{server.address}/helloworld.Greeter/SayHello").stdout

    def deadline(self):
        with self.movies() as server:
            return self.coracle("call", server.address, "-p", "grpc.health.v1.Health/Watch", "-d", "{}", "--timeout", "200ms")

    def too_large(self):
        (self.folder / "large.json").write_text('{"title": "%s"}' % ("x" * 5_000_000))
        with self.movies() as server:
            return self.coracle("call", server.address, "-p", "AddMovie", "-d", f"@{self.folder / 'large.json'}")

    def in_use(self):
        with self.movies() as server:
            return programs.run(programs.own("movie_server"), f"--port={server.port}").stderr


def test_the_page_quotes_each_fault_once():
    faults = {name for name in vars(Faulty) if not name.startswith("_")} - {"coracle", "ls", "movies", "secured"}
    assert set(QUOTED) == faults and PAGE.count("\n```") == 2 * len(QUOTED)


@pytest.mark.parametrize("name", QUOTED)
def test_the_message_is_what_is_printed(name, certificates, tmp_path):
    printed = getattr(Faulty(certificates, tmp_path), name)()
    assert " ".join(QUOTED[name].split()) in " ".join(printed.split())
