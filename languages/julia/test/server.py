"""The echo server of the tests for Python, as a program: prints its three ports and the folder of its certificates, and serves until its
standard input ends. A connection to the third port has one stream at a time."""

import pathlib
import subprocess
import sys
import tempfile

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/tests"))
sys.dont_write_bytecode = True

import conftest  # noqa: E402


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    conftest.generate(folder)
    import echo_pb2
    import echo_pb2_grpc

    subprocess.run(["bash", str(conftest.ROOT / "tests/support/certificates.sh"), str(folder)], check=True)
    service = conftest.echo_service(echo_pb2, echo_pb2_grpc)
    credentials = grpc.ssl_server_credentials([((folder / "server.key").read_bytes(), (folder / "server.pem").read_bytes())],
                                              (folder / "ca.pem").read_bytes(), require_client_auth=True)
    plain, port = conftest.serve(service, echo_pb2_grpc)
    secure, secure_port = conftest.serve(service, echo_pb2_grpc, credentials)
    narrow, narrow_port = conftest.serve(service, echo_pb2_grpc, options=[("grpc.max_concurrent_streams", 1)])
    print(port, secure_port, narrow_port, folder, flush=True)
    sys.stdin.read()
    for server in (plain, secure, narrow):
        server.stop(None).wait()


main()
