"""The movie service's Python classes, made by grpcio's own generator from the example's .proto."""

import functools
import importlib
import sys
import tempfile

from programs import MOVIE_PROTO, run


def generate(folder):
    """Into the folder, as the example's README does."""
    done = run(sys.executable, "-m", "grpc_tools.protoc", f"-I{MOVIE_PROTO.parent}", f"--python_out={folder}",
               f"--grpc_python_out={folder}", MOVIE_PROTO)
    assert done.returncode == 0, f"protoc's exit code ({done.stderr[-300:]})"


@functools.cache
def load():
    """The modules movie_pb2 and movie_pb2_grpc."""
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("movie_pb2"), importlib.import_module("movie_pb2_grpc")
        finally:
            sys.path.remove(folder)


def example_server():
    """The module of the example's server; it imports what load() has loaded."""
    sys.path.insert(0, str(MOVIE_PROTO.parent / "python"))
    try:
        return importlib.import_module("server")
    finally:
        sys.path.pop(0)
