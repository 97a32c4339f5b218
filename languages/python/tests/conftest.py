"""A server of grpcio in this process, so that every test has both libraries loaded; and generated messages."""

import importlib
import os
import pathlib
import subprocess
import sys
import threading
import time
from concurrent import futures

# Python before 3.11 forks for a new program, and grpcio's handlers of fork() abort the child while other threads use grpcio.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

import grpc  # noqa: E402
import grpc_tools  # noqa: E402
import pytest  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def generate(folder):
    from grpc_tools import protoc

    include = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    code = protoc.main(["protoc", f"-I{HERE}", f"-I{include}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                        str(HERE / "echo.proto")])
    assert code == 0
    sys.path.insert(0, str(folder))


@pytest.fixture(scope="session")
def pb2(tmp_path_factory):
    generate(tmp_path_factory.mktemp("generated"))
    return importlib.import_module("echo_pb2")


@pytest.fixture(scope="session")
def pb2_grpc(pb2):
    return importlib.import_module("echo_pb2_grpc")


def echo_service(pb2, pb2_grpc):
    class Echo(pb2_grpc.EchoServicer):
        cancelled = threading.Event()
        chat_ended = threading.Event()

        def Say(self, request, context):
            sent = dict(context.invocation_metadata())
            if sent.get("authorization", "Bearer secret") != "Bearer secret":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "another token")
            if "name" in sent:
                context.send_initial_metadata((("seen", sent["name"]),))
                context.set_trailing_metadata((("raw-bin", b"\x00\xff"),))
            return request

        def wait_for_the_end(self, context):
            """Until the client has ended the call, so that it does not keep one of the few threads."""
            ended = threading.Event()

            def end():
                self.cancelled.set()
                ended.set()

            if not context.add_callback(end):
                end()
            ended.wait(30)

        def Never(self, request, context):
            self.wait_for_the_end(context)
            return request

        def Fail(self, request, context):
            context.set_trailing_metadata((("reason-bin", b"\x01\x02"),))
            context.abort(grpc.StatusCode.NOT_FOUND, "no such name")

        def Collect(self, requests, context):
            texts = [one.text for one in requests]
            return pb2.Text(text="".join(texts), count=len(texts))

        def Unread(self, requests, context):
            self.wait_for_the_end(context)
            return pb2.Text()

        def Repeat(self, request, context):
            for i in range(request.count):
                yield pb2.Text(text=request.text, count=i)
            if request.text == "fail":
                context.abort(grpc.StatusCode.ABORTED, "after the replies")

        def Chat(self, requests, context):
            context.add_callback(self.chat_ended.set)
            yield from requests

    return Echo()


@pytest.fixture(scope="session")
def service(pb2, pb2_grpc):
    return echo_service(pb2, pb2_grpc)


@pytest.fixture
def open_descriptors():
    """A function that waits until this process has at most so many open descriptors more than at the start of the test, and returns
    how many more it has."""
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()

    def more(at_most):
        end = time.monotonic() + 20
        while count() - before > at_most and time.monotonic() < end:
            time.sleep(0.02)
        return count() - before

    return more


def serve(service, pb2_grpc, credentials=None, options=()):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8), options=options)
    pb2_grpc.add_EchoServicer_to_server(service, server)
    port = server.add_secure_port("localhost:0", credentials) if credentials else server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


@pytest.fixture(scope="session")
def target(service, pb2_grpc):
    server, port = serve(service, pb2_grpc)
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(["bash", str(ROOT / "tests/support/certificates.sh"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="session")
def secure_target(service, pb2_grpc, certificates):
    def read(name):
        return (certificates / name).read_bytes()

    credentials = grpc.ssl_server_credentials([(read("server.key"), read("server.pem"))], read("ca.pem"), require_client_auth=True)
    server, port = serve(service, pb2_grpc, credentials)
    yield f"localhost:{port}"
    server.stop(None).wait()
