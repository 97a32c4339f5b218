"""coracle chaos between clients and a server that speak TLS: what each fault of TLS makes of their calls."""

import queue
import re
import socket
import ssl
import threading

import pytest

from programs import MOVIE_PROTO, Server, own, run

pytest.importorskip("grpc", reason="./dev peers installs it")
pytest.importorskip("grpc_tools", reason="./dev peers installs it")

import grpc  # noqa: E402

import movie_stubs  # noqa: E402

movie_pb2, movie_pb2_grpc = movie_stubs.load()

LIMIT_S = 20
UNKNOWN, UNAVAILABLE = 2, 14
LARGE_TITLE = "x" * 1_000_000  # some 60 records


@pytest.fixture(scope="module")
def server(certificates):
    with Server(own("movie_server"), "--port=0", "--cert", certificates.server, "--key", certificates.server_key) as one:
        yield one
        one.expect_alive()


@pytest.fixture(scope="module")
def ca(certificates):
    return certificates.ca


def chaos(server, *faults, seed=1):
    words = [word for fault in faults for word in ("--fault", fault)]
    return Server(own("coracle"), "chaos", server.address, "--seed", str(seed), *words)


def strict(context):
    """By which an end without close_notify is an error."""
    context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
    return context


def connected(proxy, ca=None, context=None):
    """A connection of this process, after its handshake."""
    raw = socket.create_connection(("127.0.0.1", proxy.port), timeout=LIMIT_S)
    try:
        return (context or ssl.create_default_context(cafile=ca)).wrap_socket(raw, server_hostname="localhost")
    except BaseException:
        raw.close()
        raise


class TlsServer:
    """A server of this process: sends so many bytes on each connection, and reads until its end."""

    def __init__(self, certificates, sends=0):
        self.context = strict(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        self.context.load_cert_chain(certificates.server, certificates.server_key)
        self.bytes = b"x" * sends
        self.outcomes = queue.Queue()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.thread = threading.Thread(target=self._accept)

    def outcome(self):
        """The error by which the next connection has ended; None without an error."""
        return self.outcomes.get(timeout=LIMIT_S)

    def _accept(self):
        while True:
            try:
                raw = self.listening.accept()[0]
            except OSError:
                return
            raw.settimeout(LIMIT_S)
            self.outcomes.put(self._serve(raw))

    def _serve(self, raw):
        try:
            with raw, self.context.wrap_socket(raw, server_side=True, suppress_ragged_eofs=False) as one:
                one.sendall(self.bytes)
                while one.recv(1 << 16):
                    pass
        except OSError as error:
            return error
        return None

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listening.close()


class Coracle:
    """Our client: the code of a call that adds a movie, and what it says."""

    refusal = "unknown CA"
    broken_record = UNAVAILABLE

    @staticmethod
    def add(address, ca, title="Ran"):
        done = run(own("coracle"), "call", address, "AddMovie", "--ca", ca, "--proto", MOVIE_PROTO, "-d", "-",
                   data=f'{{"title": "{title}"}}', limit_s=LIMIT_S)
        return done.returncode, done.stderr


class Grpcio:
    """The same by grpcio."""

    refusal = "the client closed the connection"  # without an alert
    broken_record = UNKNOWN  # that is what it makes of a failure of TLS after the handshake

    @staticmethod
    def add(address, ca, title="Ran"):
        with grpc.secure_channel(address, grpc.ssl_channel_credentials(ca.read_bytes())) as channel:
            try:
                movie_pb2_grpc.MovieServiceStub(channel).AddMovie(movie_pb2.Movie(title=title), timeout=LIMIT_S)
            except grpc.RpcError as error:
                return error.code().value[0], error.details()
        return 0, ""


@pytest.fixture(params=[Coracle, Grpcio])
def client(request):
    return request.param


def faults_of(proxy):
    """Once it has been asked to end: each fault with its connection, and the last line."""
    assert proxy.stop() == 0, "the exit code"
    *lines, last = proxy.all_said()
    return [found[1] for line in lines if (found := re.match(r" *\d+\.\d{3} (#\d+ .*)", line))], last


def expect_service(server, ca):
    """The server serves on, whatever its connections have suffered."""
    assert Coracle.add(server.address, ca) == (0, "")


def test_an_alert_ends_the_handshake(server, ca, client):
    with chaos(server, "alert 100%") as proxy:
        code, text = client.add(proxy.address, ca)
        assert code == UNAVAILABLE, text
        assert client is Grpcio or "cipher suite" in text, text
        faults, last = faults_of(proxy)
        assert faults[0] == "#1 alert", faults
        assert re.fullmatch(r"(\d+) connections?, alert \1", last), last
    expect_service(server, ca)


def test_an_alert_is_that_of_a_server_without_a_common_cipher(server, ca):
    with chaos(server, "alert 100%") as proxy:
        with pytest.raises(ssl.SSLError, match="HANDSHAKE_FAILURE"), connected(proxy, ca):
            pass


def test_only_a_handshake_has_an_alert_or_a_false_certificate(movie_server):
    with chaos(movie_server, "alert 100%", "certificate 100%") as proxy:
        assert run(own("coracle"), "call", proxy.address, "-p", "ListMovies").returncode == 0
        assert faults_of(proxy)[0] == []


def test_a_false_certificate_is_refused(server, ca, client):
    with chaos(server, "certificate 100%") as proxy:
        code, text = client.add(proxy.address, ca)
        assert code == UNAVAILABLE, text
        assert client is Grpcio or "certificate" in text, text
        faults, last = faults_of(proxy)
        assert faults and all(re.fullmatch(rf"#\d+ certificate refused: {client.refusal}", one) for one in faults), faults
        assert "ACCEPTED" not in last, last
    expect_service(server, ca)


def test_a_client_that_accepts_a_false_certificate_is_named(server):
    with chaos(server, "certificate 100%") as proxy:
        done = run(own("coracle"), "call", proxy.address, "--no-verify", "AddMovie", "--proto", MOVIE_PROTO, "-d", "{}")
        assert done.returncode == UNAVAILABLE, done.stderr
        faults, last = faults_of(proxy)
        assert faults[0].startswith("#1 certificate ACCEPTED: "), faults
        assert re.search(r", ACCEPTED \d+$", last), last


def test_a_client_that_verifies_after_the_handshake_has_not_accepted(server):
    """The name that it asks for is in the certificate."""
    with chaos(server, "certificate 100%") as proxy:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with connected(proxy, context=context) as one:
            certificate = one.getpeercert(binary_form=True)
        assert b"localhost" in certificate
        assert faults_of(proxy)[0] == ["#1 certificate refused: the client closed the connection"]


def test_a_truncated_request_fails(server, ca, client):
    with chaos(server, "truncate 100KB") as proxy:
        code, text = client.add(proxy.address, ca, LARGE_TITLE)
        assert code == UNAVAILABLE, text
        faults, _ = faults_of(proxy)
        assert re.fullmatch(r"#1 truncate after \d+ bytes to the server", faults[0]), faults
    expect_service(server, ca)


def test_a_changed_byte_ends_the_connection(server, ca, client):
    with chaos(server, "corrupt 200KB") as proxy:
        code, text = client.add(proxy.address, ca, LARGE_TITLE)
        assert code == client.broken_record, text
        assert client is Grpcio or "bad record mac" in text, text
        faults, _ = faults_of(proxy)
        assert re.fullmatch(r"#1 corrupt \d+ bytes? to the server", faults[0]), faults
    expect_service(server, ca)


def test_a_truncation_is_within_a_record_and_both_sides_are_told(certificates):
    with TlsServer(certificates, sends=500_000) as server, chaos(server, "truncate 100KB", seed=3) as proxy:
        received, plain = b"", b""
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=LIMIT_S) as raw:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = strict(ssl.create_default_context(cafile=certificates.ca)).wrap_bio(incoming, outgoing, server_hostname="localhost")
            with pytest.raises(ssl.SSLError, match="UNEXPECTED_EOF"):
                while True:
                    try:
                        more = tls.read(1 << 16)
                        assert more, "there was a close_notify"
                        plain += more
                    except ssl.SSLWantReadError:
                        raw.sendall(outgoing.read())
                        if more := raw.recv(1 << 16):
                            received += more
                            incoming.write(more)
                        else:
                            incoming.write_eof()
        assert "UNEXPECTED_EOF" in str(server.outcome())
        assert faults_of(proxy)[0] == [f"#1 truncate after {len(received)} bytes to the client"]
        assert plain, "the handshake was not over"
        end = 0
        while end < len(received):
            end += 5 + int.from_bytes(received[end + 3:end + 5], "big")
        assert end > len(received), "the last record is whole"


def test_the_same_seed_has_the_same_faults(certificates):
    def faults(seed):
        with TlsServer(certificates) as server, chaos(server, "alert 25%", "certificate 25%", "truncate 100KB", seed=seed) as proxy:
            for _ in range(16):
                try:
                    with connected(proxy, certificates.ca) as one:
                        one.sendall(b"x" * 100_000)
                        one.shutdown(socket.SHUT_WR)
                        while one.recv(1 << 16):
                            pass
                except (ssl.SSLError, ConnectionError):
                    pass
            return sorted(faults_of(proxy)[0])

    first = faults(2)
    for kind in ("alert", "certificate refused: unknown CA", "truncate after"):
        assert any(kind in one for one in first), first
    assert len(first) < 16
    assert faults(2) == first
    assert faults(3) != first
