"""grpcio's client, which does what tests/interop/xds_peer.cpp says."""

import collections
import itertools
import select
import sys

import grpc
from grpc.experimental import insecure_channel_credentials


def answer(call, metadata):
    try:
        return call(b"", metadata=metadata, timeout=20).decode()
    except grpc.RpcError as error:
        print(error.code().name, error.details(), file=sys.stderr, flush=True)
        return error.code().name


def has_input():
    return bool(select.select([sys.stdin], [], [], 0)[0])


credentials = grpc.xds_channel_credentials(insecure_channel_credentials())
channel, target = None, ""
# Unbuffered, so that select() knows whether there is a line.
for line in iter(lambda: sys.stdin.buffer.raw.readline().decode(), ""):
    count, wanted, path, *fields = line.split()
    if wanted != target:
        if channel:
            channel.close()
        channel, target = grpc.secure_channel(wanted, credentials), wanted
    method = channel.unary_unary(path)
    pairs = [field.split("=", 1) for field in fields]
    metadata = [(name, value.encode() if name.endswith("-bin") else value) for name, value in pairs]
    answers = collections.Counter()
    for i in itertools.count():
        if has_input() if count == "0" else i >= int(count):
            break
        answers[answer(method, metadata)] += 1
    print(*(f"{name}={times}" for name, times in sorted(answers.items())), flush=True)
if channel:
    channel.close()
