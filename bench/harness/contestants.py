"""Who takes part in the contest, what each can do, and what they are sent."""

import shutil
import subprocess

from harness import machine, peers, servers

RUST = "peers/rust/target/release/"
FLOOR = "floor (no gRPC)"


class Contestant(servers.Kind):
    """can: tls, orders, streams, whole (messages of several frames), malloc (its allocations go through malloc), by name."""

    def __init__(self, name, program, *arguments, can=("tls", "orders", "streams", "whole", "malloc"), **environment):
        super().__init__(name, program, *arguments, **environment)
        self.can = set(can)
        self.own = name.startswith("coracle")


SERVERS = (
    Contestant("coracle io_uring", "bin/bench_greeter", CORACLE_BACKEND="io_uring"),
    Contestant("coracle epoll", "bin/bench_greeter", CORACLE_BACKEND="epoll"),
    Contestant("coracle io_uring, bytes", "bin/bench_greeter_bytes", can=("tls", "orders", "whole", "malloc"),
               CORACLE_BACKEND="io_uring"),
    Contestant("coracle io_uring, in place", "bin/bench_greeter_in_place", can=("tls", "whole", "malloc"),
               CORACLE_BACKEND="io_uring"),
    Contestant("coracle io_uring, suspending", "bin/bench_greeter_suspending", can=("tls", "whole", "malloc"),
               CORACLE_BACKEND="io_uring"),
    Contestant("tonic current-thread", RUST + "greeter_tonic", "current"),
    Contestant("tonic multi-thread", RUST + "greeter_tonic", "multi"),
    Contestant("pajamax", RUST + "greeter_pajamax", can=("orders", "malloc")),
    Contestant("grpc-go", "peers/go/greeter", can=("tls", "orders", "streams", "whole")),
    Contestant("grpc++ completion queue", "bin/bench_grpcpp_greeter", can=("tls", "orders", "whole", "malloc")),
    Contestant("grpc++ callback", "bin/bench_grpcpp_callback"),
    Contestant(FLOOR, "bin/bench_floor", can=("malloc",)),
)

GREET, ECHO = "/helloworld.Greeter/SayHello", "/orders.Orders/Echo"
ORDER = "order"
NAMES = {"100 B": 100, "1 KB": 1000, "10 KB": 10_000}  # bytes of the name that is greeted


class Payload:
    """A request in two files, with gRPC's envelope for h2load and without it for bench_load."""

    def __init__(self, name, path, message, folder):
        self.name, self.path = name, path
        stem = name.replace(" ", "")
        self.message, self.enveloped = folder / f"{stem}.message", folder / f"{stem}.body"
        self.message.write_bytes(message)
        self.enveloped.write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)


def greeting(size):
    rest, number = b"", size
    while number >= 128:
        rest, number = rest + bytes([number % 128 + 128]), number // 128
    return b"\x0a" + rest + bytes([number]) + bytes(ord("a") + i % 26 for i in range(size))


def order():
    text = (peers.PROTOS / "order.txtpb").read_bytes()
    try:
        done = subprocess.run(["protoc", f"-I{peers.PROTOS}", "--encode=orders.Order", "orders.proto"], input=text,
                              capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise machine.Failure(f"protoc does not encode order.txtpb: {error}; fix: apt-get install "
                              "protobuf-compiler") from None
    return done.stdout


def payloads(folder):
    made = {name: Payload(name, GREET, greeting(size), folder) for name, size in NAMES.items()}
    return {**made, ORDER: Payload(ORDER, ECHO, order(), folder)}


def takes_part(one, security, payload):
    if one.name == FLOOR:
        return security == "plaintext" and payload == "100 B"
    # Ten requests of 10 KB on one connection are beyond its first window, so that some are sent in pieces.
    needs = {"tls"} if security == "TLS" else set()
    needs |= {ORDER: {"orders"}, "10 KB": {"whole"}}.get(payload, set())
    return needs <= one.can


def check(server, one, build, certificate=None):
    """Whether replies are right, byte for byte, with grpc-status 0."""
    if one.name == FLOOR:
        return
    words = [word for word, needs in (("orders", "orders"), ("hold", "streams")) if needs in one.can]
    words += [] if "whole" in one.can else ["small"]
    words += [f"ca={certificate}"] if certificate else []
    done = subprocess.run(["timeout", "60", build / "bin/bench_check", server.address, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise machine.Failure(f"{one.name} answers wrong: {done.stderr.strip() or 'too late'}")


def make_certificate(folder):
    """For 127.0.0.1, of its own making: (certificate, key)."""
    if not shutil.which("openssl"):
        raise machine.Failure("there is no openssl; fix: apt-get install openssl")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    peers.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
               "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
               "-out", certificate])
    return certificate, key
