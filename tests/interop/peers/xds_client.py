"""grpcio's client, which does what tests/interop/xds_peer.cpp says."""

import collections
import itertools
import select
import sys
import threading
import time

import grpc
from grpc.experimental import insecure_channel_credentials


class Call:
    """One that has begun."""

    def __init__(self, method, metadata):
        begin = time.monotonic()
        self.made = method.future(b"", metadata=metadata, timeout=20)
        self.taken_s = None
        self.ended = threading.Event()
        self.made.add_done_callback(lambda _: self.end(time.monotonic() - begin))

    def end(self, taken_s):
        self.taken_s = taken_s
        self.ended.set()

    def answer(self, step_ms, shown):
        self.ended.wait()
        code = self.made.code()
        text = self.made.result().decode() if code is grpc.StatusCode.OK else code.name
        if code is not grpc.StatusCode.OK:
            print(text, self.made.details(), file=sys.stderr, flush=True)
        if step_ms:
            text += f"/{int(self.taken_s * 1000 // step_ms * step_ms)}"
        if shown:
            text += "/" + dict(self.made.initial_metadata()).get(shown, "").replace(" ", "")
        return text


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
    pairs = dict(field.split("=", 1) for field in fields)
    step_ms, shown, together = (pairs.pop(f":{name}", "") for name in ("timed", "shown", "together"))
    step_ms = int(step_ms or "0")
    metadata = [(name, value.encode() if name.endswith("-bin") else value) for name, value in pairs.items()]
    answers = collections.Counter()
    if together:
        for one in [Call(method, metadata) for _ in range(int(count))]:
            answers[one.answer(step_ms, shown)] += 1
    else:
        for i in itertools.count():
            if has_input() if count == "0" else i >= int(count):
                break
            answers[Call(method, metadata).answer(step_ms, shown)] += 1
    print(*(f"{name}={times}" for name, times in sorted(answers.items())), flush=True)
if channel:
    channel.close()
