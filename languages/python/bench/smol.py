#!/usr/bin/env python3
"""smol.py PORT [SECONDS] [WAY...]: calls per second of this process's CPU time, of test.TestService/TestRPC: 1,000 calls at a time, or
16 threads with one call each. Interleaved; each way's median of its rounds."""

import asyncio
import gc
import importlib
import pathlib
import resource
import statistics
import sys
import tempfile
import threading
import time

import grpc

import coracle
import coracle.aio

PROTOS = pathlib.Path(__file__).resolve().parents[3] / "bench/protos"
BATCH = 1000
THREADS = 16


def messages():
    from grpc_tools import protoc

    folder = tempfile.mkdtemp()
    assert protoc.main(["protoc", f"-I{PROTOS}", f"--python_out={folder}", str(PROTOS / "testsvc.proto")]) == 0
    sys.path.insert(0, folder)
    return importlib.import_module("testsvc_pb2")


pb2 = messages()
REQUEST = pb2.TestRequest(test_response_sz=1)
METHOD = ("/test.TestService/TestRPC", pb2.TestRequest.SerializeToString, pb2.TestResponse.FromString)


def futures(channel):
    method = channel.unary_unary(*METHOD)

    def round_():
        calls = [method.future(REQUEST) for _ in range(BATCH)]
        for call in calls:
            assert len(call.result().data) == 1
        return BATCH

    return round_


def threads(channel):
    method = channel.unary_unary(*METHOD)

    def work():
        for _ in range(100):
            assert len(method(REQUEST).data) == 1

    def round_():
        workers = [threading.Thread(target=work) for _ in range(THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return 100 * THREADS

    return round_


def tasks(make):
    loop = asyncio.new_event_loop()

    async def connect():
        return make().unary_unary(*METHOD)

    method = loop.run_until_complete(connect())

    async def batch():
        async def one():
            return await method(REQUEST)

        for reply in await asyncio.gather(*(one() for _ in range(BATCH))):
            assert len(reply.data) == 1
        return BATCH

    return lambda: loop.run_until_complete(batch())


def main(port, seconds=3.0, *wanted):
    target = f"127.0.0.1:{port}"
    ways = {
        "grpcio threads": lambda: threads(grpc.insecure_channel(target)),
        "coracle threads": lambda: threads(coracle.Channel(target, coracle.insecure())),
        "grpcio futures": lambda: futures(grpc.insecure_channel(target)),
        "coracle futures": lambda: futures(coracle.Channel(target, coracle.insecure())),
        "grpc.aio": lambda: tasks(lambda: grpc.aio.insecure_channel(target)),
        "coracle.aio": lambda: tasks(lambda: coracle.aio.Channel(target, coracle.insecure())),
    }
    made = {name: make() for name, make in ways.items() if not wanted or name in wanted}
    rates = {name: [] for name in made}
    for round_ in made.values():
        round_()
    for _ in range(5):
        for name, round_ in made.items():
            gc.collect()
            calls, until = 0, time.monotonic() + float(seconds) / 5
            before = resource.getrusage(resource.RUSAGE_SELF)
            while time.monotonic() < until:
                calls += round_()
            after = resource.getrusage(resource.RUSAGE_SELF)
            rates[name].append(calls / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    for name, values in rates.items():
        rate = statistics.median(values)
        print(f"{name:16} {rate:9,.0f} calls/CPU s   {1e6 / rate:7.1f} us/call", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
