"""Other libraries in the process that contain a protobuf of their own."""

import subprocess
import sys

import pytest

THEIRS = "from grpc_tools import protoc; assert protoc.main(['protoc', '--version']) == 0"
OURS = """
import coracle
try:
    coracle.Channel("127.0.0.1:1", coracle.insecure()).unary_unary("/a.B/C")(b"")
except coracle.RpcError as error:
    print(error.code().name)
"""


@pytest.mark.parametrize("order", [(THEIRS, OURS), (OURS, THEIRS)], ids=["before", "after"])
def test_the_compiler_of_grpcio_tools_is_loaded(order):
    done = subprocess.run([sys.executable, "-c", "\n".join(order)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "UNAVAILABLE" in done.stdout, done
