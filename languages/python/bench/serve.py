#!/usr/bin/env python3
"""serve.py PROGRAM [SECONDS]: calls per second and CPU time of servers in Python, coracle.aio.Server and grpc.aio's, with the same
generated servicer, under `PROGRAM load` (the program coracle). Interleaved; the median of three rounds."""

import asyncio
import importlib
import json
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile

import grpc
import grpc.aio

import coracle.aio

PROTOS = pathlib.Path(__file__).resolve().parents[1] / "tests"
REPLIES = 100
ROUNDS = 3
LOADS = {"unary, 50 at once": ("Say", "unary", 50), "unary, one at a time": ("Say", "unary", 1),
         f"streams of {REPLIES} replies, 20 at once": ("Repeat", "server-streaming", 20)}


async def serve(name, folder):
    sys.path.insert(0, folder)
    pb2_grpc = importlib.import_module("echo_pb2_grpc")

    class Echo(pb2_grpc.EchoServicer):
        async def Say(self, request, context):
            return request

        async def Repeat(self, request, context):
            for _ in range(REPLIES):
                yield request

    server = coracle.aio.Server() if name == "coracle.aio" else grpc.aio.server()
    pb2_grpc.add_EchoServicer_to_server(Echo(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    before = resource.getrusage(resource.RUSAGE_SELF)
    await end.wait()
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, flush=True)
    await server.stop(0)


def measure(program, name, folder, load, seconds):
    """Calls per second, and microseconds of the server's CPU time per call."""
    method, kind, workers = LOADS[load]
    report = pathlib.Path(folder, "report.json")
    with subprocess.Popen([sys.executable, __file__, "--serve", name, folder], stdout=subprocess.PIPE, text=True) as server:
        port = server.stdout.readline().strip()
        subprocess.run([program, "load", f"127.0.0.1:{port}", f"languages.test.Echo/{method}", "--plaintext", "--raw",
                        str(pathlib.Path(folder, "request")), "--kind", kind, "--concurrency", str(workers), "--duration", f"{seconds}s",
                        "--json", str(report)], check=True, stdout=subprocess.DEVNULL)
        server.send_signal(signal.SIGTERM)
        cpu = float(server.stdout.readline())
    [run] = json.loads(report.read_text())["runs"]
    assert run["failed"] == 0, run
    return run["rate_per_s"], 1e6 * cpu / run["calls"]


def main(program, seconds="4"):
    from grpc_tools import protoc

    folder = tempfile.mkdtemp()
    assert protoc.main(["protoc", f"-I{PROTOS}", f"--python_out={folder}", f"--grpc_python_out={folder}",
                        str(PROTOS / "echo.proto")]) == 0
    sys.path.insert(0, folder)
    request = importlib.import_module("echo_pb2").Text(text="hello world", count=3)
    pathlib.Path(folder, "request").write_bytes(request.SerializeToString())
    for load in LOADS:
        rounds = {"grpc.aio": [], "coracle.aio": []}
        for _ in range(ROUNDS):
            for name, results in rounds.items():
                results.append(measure(program, name, folder, load, seconds))
        for name, results in rounds.items():
            rate = statistics.median(rate for rate, _ in results)
            cost = statistics.median(cost for _, cost in results)
            print(f"{load:40} {name:12} {rate:9,.0f} calls/s {cost:9.1f} us of CPU/call", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        asyncio.run(serve(*sys.argv[2:]))
    else:
        main(*sys.argv[1:])
