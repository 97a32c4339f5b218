"""Programs that end with calls in progress, whose objects are those of a module: Python destroys them in an order of its own."""

import os
import subprocess
import sys

import pytest

WITH_THREADS = """
import sys, threading
import coracle, echo_pb2 as pb2

service = pb2.DESCRIPTOR.services_by_name["Echo"]
channel = coracle.Channel(sys.argv[1], coracle.insecure())
echo = coracle.stub(channel, service)
asking = echo.Never.future(pb2.Text())
replies = echo.Repeat(pb2.Text(count=1_000_000))
next(replies)
waiting = threading.Thread(target=asking.exception, daemon=True)
waiting.start()
print("begun", flush=True)
"""
WITH_ASYNCIO = """
import asyncio, sys
import coracle, coracle.aio, echo_pb2 as pb2

channel = coracle.aio.Channel(sys.argv[1], coracle.insecure())
echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])

async def begin():
    global asking, chat
    asking = echo.Never(pb2.Text())
    chat = echo.Chat()
    await chat.write(pb2.Text(count=4))
    await chat.read()
    print("begun", flush=True)

loop = asyncio.new_event_loop()
loop.run_until_complete(begin())
"""
DROPS_STREAMS = """
import sys
import coracle, echo_pb2 as pb2

with coracle.Channel(sys.argv[1], coracle.insecure()) as channel:
    echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
    for _ in range(20):
        replies = echo.Repeat(pb2.Text(count=1_000_000))
        next(replies)
        for _ in range(20):
            echo.Say(pb2.Text())
        del replies
print("begun", flush=True)
"""
SERVES = """
import asyncio, sys
import coracle, coracle.aio, echo_pb2 as pb2

class Echo:
    async def Never(self, request, context):
        begun.set_result(None)
        await asyncio.sleep(600)

    async def Repeat(self, request, context):
        while True:
            yield request

async def begin():
    global begun, server, asking, replies, channel
    begun = asyncio.get_running_loop().create_future()
    service = pb2.DESCRIPTOR.services_by_name["Echo"]
    server = coracle.aio.Server()
    server.add(service, Echo())
    channel = coracle.aio.Channel(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}", coracle.insecure())
    await server.start()
    asking = coracle.stub(channel, service).Never(pb2.Text())
    await begun
    replies = coracle.stub(channel, service).Repeat(pb2.Text(count=1))
    await replies.read()
    print("begun", flush=True)

"""
ENDS = {
    "threads-all": WITH_THREADS,
    "threads-without-channel": WITH_THREADS + "del channel, echo",
    "threads-without-calls": WITH_THREADS + "del replies, asking, waiting",
    "threads-without-modules": WITH_THREADS + "del pb2, coracle, service, threading",
    "threads-by-an-exception": WITH_THREADS + "raise SystemExit(0)",
    "threads-that-drop-streams": DROPS_STREAMS,  # which may have received all that they have asked for
    "asyncio-all": WITH_ASYNCIO,
    "asyncio-closed": WITH_ASYNCIO + "loop.close()",
    "asyncio-without-loop": WITH_ASYNCIO + "loop.close(); del loop, channel, echo",
    "server-of-a-loop-that-is-closed": SERVES + "asyncio.run(begin())",
    "server-without-its-objects": SERVES + "asyncio.run(begin()); del server, asking, replies, channel, begun",
    "server-of-a-loop-that-is-open": SERVES + "loop = asyncio.new_event_loop(); loop.run_until_complete(begin())",
    "server-by-an-exception": SERVES + "async def fail():\n    await begin()\n    raise SystemExit(0)\nasyncio.run(fail())",
    "asyncio-without-calls": WITH_ASYNCIO + "del asking, chat; loop.close()",
}


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS.keys())
def test_a_program_ends_during_its_calls(target, pb2, program):
    """pb2: its folder is in sys.path."""
    done = subprocess.run([sys.executable, "-c", program, target], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "begun\n", "")
