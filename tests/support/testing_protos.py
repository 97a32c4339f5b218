"""The messages of proto/grpc/testing, as the attributes of one object."""

import functools
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from programs import ROOT, run

FILES = ("grpc/testing/messages.proto", "grpc/testing/xds.proto")


@functools.cache
def testing():
    """In a pool of their own: grpcio's packages have the same names."""
    with tempfile.NamedTemporaryFile() as out:
        done = run(sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--descriptor_set_out={out.name}", *FILES)
        assert done.returncode == 0, f"protoc's exit code ({done.stderr[-300:]})"
        described = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    pool = descriptor_pool.DescriptorPool()
    for one in described.file:
        pool.Add(one)
    classes = message_factory.GetMessageClassesForFiles(FILES, pool)
    return type("testing", (), {name.rpartition(".")[2]: of for name, of in classes.items()})
