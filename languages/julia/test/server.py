"""The echo server of the tests for Python, as a program: prints its two ports and the folder of its certificates, and serves until its
standard input ends."""

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
    print(port, secure_port, folder, flush=True)
    sys.stdin.read()
    plain.stop(None).wait()
    secure.stop(None).wait()


main()
