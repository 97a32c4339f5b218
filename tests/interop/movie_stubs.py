"""The movie service's Python classes, made by grpcio's own generator from the example's .proto."""

import importlib
import sys
import tempfile

from stage import MOVIE_PROTO, Wrong


def load():
    """The modules movie_pb2 and movie_pb2_grpc."""
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        code = protoc.main(["protoc", f"-I{MOVIE_PROTO.parent}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                            str(MOVIE_PROTO)])
        if code != 0:
            raise Wrong(f"grpc_tools.protoc ended with {code}")
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("movie_pb2"), importlib.import_module("movie_pb2_grpc")
        finally:
            sys.path.remove(folder)
