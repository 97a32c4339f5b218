"""coracle doctor: what it finds on this machine under limits, and on servers that are well and that are not."""

import concurrent.futures
import json
import socket
import subprocess
import threading
import time

import pytest

from certificates import openssl
from programs import ROOT, Server, own, run

CHECK_FAILED, USAGE = 66, 64


def doctor(*words, code, env=None, before=()):
    """The verdicts by topic, and what was found, of the JSON."""
    done = run(*before, own("coracle"), "doctor", "--json", *words, env=env)
    assert done.returncode == code, f"the exit code ({done.stdout[-2000:]} {done.stderr[-300:]})"
    whole = json.loads(done.stdout)
    assert whole["problems"] == sum(one["verdict"] == "problem" for one in whole["findings"])
    assert (whole["problems"] > 0) == (code == CHECK_FAILED)
    for one in whole["findings"]:
        assert one["verdict"] != "problem" or one["advice"], f"a problem without advice: {one}"
    return {one["topic"]: one for one in whole["findings"]}


def expect(found, topic, verdict, text=""):
    assert found[topic]["verdict"] == verdict and text in found[topic]["found"], found[topic]


# --- the machine

def limited(*limits):
    return ("prlimit", *limits, "--")


def test_this_machine_has_what_a_runtime_needs():
    found = doctor(code=0)
    for topic in ("kernel", "processors", "clock source", "control group: memory", "IPv6", "seccomp", "queue of listeners"):
        assert topic in found, f"{topic} is not checked"
    expect(found, "trusted CAs", "ok")


def test_few_open_files_are_a_problem_and_some_a_note():
    expect(doctor(code=CHECK_FAILED, before=limited("--nofile=200:200")), "open files", "problem", "200 (may be raised to 200)")
    expect(doctor(code=0, before=limited("--nofile=2000:20000")), "open files", "note", "2000")


def test_limits_on_memory_are_noticed():
    found = doctor(code=0, before=limited("--memlock=65536:65536", "--as=8589934592:8589934592", "--core=0:0"))
    expect(found, "locked memory", "note", "64 KiB")
    expect(found, "address space", "note", "8 GiB")
    expect(found, "core dumps", "note", "off")
    expect(doctor(code=0, before=limited("--core=0:1000000")), "core dumps", "note")


def test_the_chosen_backend_and_its_reason_are_shown():
    expect(doctor(code=0, env={"CORACLE_BACKEND": "epoll"}), "io_uring", "note", "CORACLE_BACKEND")


def test_missing_cas_are_a_problem(tmp_path):
    env = {"SSL_CERT_FILE": str(tmp_path / "none"), "SSL_CERT_DIR": str(tmp_path)}
    expect(doctor(code=CHECK_FAILED, env=env), "trusted CAs", "problem", "0 certificates")


def test_a_proxy_is_named_without_its_password():
    found = doctor(code=0, env={"https_proxy": "http://user:secret@127.0.0.1:1"})
    expect(found, "proxy", "note", "https_proxy")
    assert "secret" not in json.dumps(found)


# --- servers

@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(["bash", ROOT / "tests/support/certificates.sh", folder], check=True, timeout=120)
    (folder / "lasting.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=lasting", "-keyout", folder / "lasting.key",
            "-out", folder / "lasting.csr")
    openssl("x509", "-req", "-in", folder / "lasting.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
            "-days", "90", "-extfile", folder / "lasting.ext", "-out", folder / "lasting.pem")
    return folder


def secured(made, name, *words):
    return Server(own("movie_server"), "--port=0", "--cert", made / f"{name}.pem", "--key", made / f"{name}.key", *words)


def test_a_server_that_is_well(made):
    with secured(made, "lasting") as server:
        found = doctor(server.address, "--ca", made / "ca.pem", code=0)
        for topic in ("connect", "TLS", "ALPN", "HTTP/2", "certificate: name", "certificate: chain", "certificate: time", "health",
                      "reflection", "channelz", "latency", "compression"):
            expect(found, topic, "ok")
        expect(found, "PINGs", "note", "too_many_pings")  # as its limits are
        text = run(own("coracle"), "doctor", server.address, "--ca", made / "ca.pem").stdout
        assert text.startswith("server\n  ok       name: "), text


def test_a_certificate_that_ends_soon(made):
    with secured(made, "server") as server:
        expect(doctor(server.address, "--ca", made / "ca.pem", code=CHECK_FAILED), "certificate: time", "problem", "valid for 1 day")


def test_an_expired_certificate(made):
    with secured(made, "expired") as server:
        found = doctor(server.address, "--ca", made / "ca.pem", code=CHECK_FAILED)
        expect(found, "certificate: time", "problem", "expired")
        expect(found, "certificate: chain", "problem", "expired")
        expect(found, "certificate: name", "ok")


def test_a_certificate_of_another_name(made):
    with secured(made, "other_server") as server:
        found = doctor(server.address, "--ca", made / "ca.pem", code=CHECK_FAILED)
        expect(found, "certificate: name", "problem", "it has other.example, *.wild.example")
        expect(found, "certificate: chain", "ok")


def test_a_ca_that_is_not_trusted(made):
    with secured(made, "untrusted") as server:
        expect(doctor(server.address, "--ca", made / "ca.pem", code=CHECK_FAILED), "certificate: chain", "problem", "unable to")


def test_a_missing_client_certificate(made):
    with secured(made, "lasting", "--client-ca", made / "ca.pem") as server:
        found = doctor(server.address, "--ca", made / "ca.pem", code=CHECK_FAILED)
        expect(found, "HTTP/2", "problem", "certificate required")
        assert "--cert" in found["HTTP/2"]["advice"]
        both = ("--cert", made / "client.pem", "--key", made / "client.key")
        expect(doctor(server.address, "--ca", made / "ca.pem", *both, code=0), "health", "ok")


def test_a_server_without_alpn(made):
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", made / "server.pem", "-key", made / "server.key", "-quiet", "-www"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command[3] = f"127.0.0.1:{port}"
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 15
            while time.monotonic() < end:
                with socket.socket() as attempt:
                    if attempt.connect_ex(("127.0.0.1", port)) == 0:
                        break
            found = doctor(f"127.0.0.1:{port}", "--ca", made / "ca.pem", code=CHECK_FAILED)
            expect(found, "ALPN", "problem", "selects no protocol")
            assert "health" not in found, "what cannot work is not tried"
        finally:
            server.kill()


def test_plaintext_and_tls_are_told_apart(made, movie_server):
    found = doctor(movie_server.address, code=CHECK_FAILED)
    expect(found, "TLS", "problem", "does not speak TLS")
    assert "--plaintext" in found["TLS"]["advice"]
    with secured(made, "server") as server:
        found = doctor(server.address, "-p", code=CHECK_FAILED)
        expect(found, "HTTP/2", "problem", "the server closed the connection")
        assert "remove --plaintext" in found["HTTP/2"]["advice"]


def test_a_server_without_services(greeter_server):
    found = doctor(greeter_server.address, "-p", code=0)
    expect(found, "latency", "ok")
    for topic in ("health", "reflection", "channelz"):
        expect(found, topic, "note", "no ")


def test_a_server_that_refuses_to_serve():
    grpc = pytest.importorskip("grpc", reason="./dev peers installs it")

    class Health(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method != "/grpc.health.v1.Health/Check":
                return None
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\x08\x02")  # NOT_SERVING

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=(Health(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        found = doctor(f"127.0.0.1:{port}", "-p", code=CHECK_FAILED)
    finally:
        server.stop(None)
    expect(found, "health", "problem", "NOT_SERVING")
    expect(found, "reflection", "note", "no reflection service")
    expect(found, "latency", "ok")


class Scripted:
    """A server of a few bytes: sends `answer` to each connection when something has arrived, and then what `more` says to PINGs."""

    def __init__(self, answer, more=lambda count: b""):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.answer, self.more = answer, more
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        pings = 0
        with connection:
            try:
                first = True
                while data := connection.recv(65536):
                    if first:
                        connection.sendall(self.answer)
                        first = False
                    pings += data.count(b"\x00\x00\x08\x06\x00")
                    if more := self.more(pings):
                        connection.sendall(more)
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


SETTINGS = b"\0\0\0\4\0\0\0\0\0"


def goaway(text):
    return (8 + len(text)).to_bytes(3, "big") + b"\7\0\0\0\0\0" + b"\0\0\0\0" + b"\0\0\0\x0b" + text


def test_a_server_that_limits_pings():
    def answer(pings):
        return goaway(b"too_many_pings") if pings >= 3 else b"\0\0\x08\6\1\0\0\0\0doctor10" if pings else b""
    with Scripted(SETTINGS, answer) as server:
        found = doctor(server.address, "-p", "--timeout", "2s", code=CHECK_FAILED)
        expect(found, "PINGs", "note", "after 3 PINGs within a second: GOAWAY 11 too_many_pings")
        expect(found, "health", "problem")


def test_a_server_of_http1_alone():
    with Scripted(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n") as server:
        expect(doctor(server.address, "-p", code=CHECK_FAILED), "HTTP/2", "problem", "HTTP/1.1 only")


def test_what_a_hostile_server_sends_does_not_reach_the_terminal():
    with Scripted(SETTINGS, lambda pings: goaway(b"\x1b[2J\n ok fine") if pings else b"") as server:
        done = run(own("coracle"), "doctor", server.address, "-p")
        assert "\x1b" not in done.stdout and "GOAWAY 11 ?[2J? ok fine" in done.stdout, done.stdout


def test_nothing_listens_and_no_such_name():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    expect(doctor(f"127.0.0.1:{port}", "-p", code=CHECK_FAILED), "connect", "problem", "refused")
    expect(doctor("no-such-name.invalid:1", code=CHECK_FAILED), "name", "problem")


def test_options_that_contradict_each_other():
    done = run(own("coracle"), "doctor", "localhost:1", "-p", "--no-verify")
    assert done.returncode == USAGE, done.stdout
