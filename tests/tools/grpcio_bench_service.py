"""test.TestService on grpcio, for bench_test.py."""

import concurrent.futures
import importlib
import pathlib
import signal
import sys
import tempfile
import threading

import grpc
from grpc_tools import protoc


ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    with tempfile.TemporaryDirectory() as folder:
        protos = ROOT / "bench/protos"
        code = protoc.main(["protoc", f"-I{protos}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                            str(protos / "testsvc.proto")])
        if code != 0:
            sys.exit(f"grpc_tools.protoc ended with {code}")
        sys.path.insert(0, folder)
        return importlib.import_module("testsvc_pb2"), importlib.import_module("testsvc_pb2_grpc")


testsvc_pb2, testsvc_pb2_grpc = load()


def reply(size):
    return testsvc_pb2.TestResponse(data=range(1, size + 1))


class Service(testsvc_pb2_grpc.TestServiceServicer):
    def TestRPC(self, request, context):
        return reply(request.test_response_sz)

    def TestServerStreamRPC(self, request, context):
        return (reply(size) for size in range(1, request.test_response_sz + 1))

    def TestClientStreamRPC(self, requests, context):
        return reply(sum(request.test_response_sz for request in requests))

    def TestBidirectionalStreamRPC(self, requests, context):
        return (reply(request.test_response_sz) for request in requests)


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8), options=[
        ("grpc.so_reuseport", 0),
        # grpcio ends calls that wait beyond a thousand or so.
        ("grpc.server.max_pending_requests", 1 << 20), ("grpc.server.max_pending_requests_hard_limit", 1 << 20)])
    testsvc_pb2_grpc.add_TestServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait()
    server.stop(0)


if __name__ == "__main__":
    main()
