"""The code of docs/guides/python.md."""

import asyncio
import os
import socket

import pytest


def test_the_guide(target, pb2):
    port = int(target.rpartition(":")[2])
    # --8<-- [start:threads]
    import coracle

    channel = coracle.Channel(f"localhost:{port}", coracle.insecure())
    echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])

    reply = echo.Say(pb2.Text(text="hello"), timeout=5)
    for reply in echo.Repeat(pb2.Text(text="again", count=3)):
        print(reply.text, reply.count)
    try:
        echo.Fail(pb2.Text())
    except coracle.RpcError as error:
        print(error.code(), error.details())
    # --8<-- [end:threads]
    # --8<-- [start:futures]
    calls = [echo.Say.future(pb2.Text(count=i)) for i in range(1000)]
    counts = [call.result().count for call in calls]
    # --8<-- [end:futures]
    assert counts == list(range(1000)) and reply.count == 2
    channel.close()


def test_the_guide_for_asyncio(target, pb2):
    # --8<-- [start:asyncio]
    import coracle
    import coracle.aio

    async def talk():
        async with coracle.aio.Channel(target, coracle.insecure()) as channel:
            echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
            replies = await asyncio.gather(*(echo.Say(pb2.Text(count=i), timeout=5) for i in range(100)))
            chat = echo.Chat()
            await chat.write(pb2.Text(text="one"))
            await chat.done_writing()
            async for reply in chat:
                print(reply.text)
            return replies
    # --8<-- [end:asyncio]

    assert len(asyncio.run(talk())) == 100


def test_the_guide_for_servers(pb2, pb2_grpc):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # --8<-- [start:server]
    import signal

    import coracle
    import coracle.aio

    class Echo(pb2_grpc.EchoServicer):
        async def Say(self, request, context):
            if not request.text:
                await context.abort(coracle.StatusCode.INVALID_ARGUMENT, "the text is empty")
            return request

        async def Repeat(self, request, context):
            for i in range(request.count):
                yield pb2.Text(text=request.text, count=i)

        async def Chat(self, requests, context):
            async for request in requests:
                yield request

    async def main():
        server = coracle.aio.Server()
        pb2_grpc.add_EchoServicer_to_server(Echo(), server)
        server.add_insecure_port(f"127.0.0.1:{port}")
        await server.start()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: loop.create_task(server.stop(grace=5)))
        await server.wait_for_termination()
    # --8<-- [end:server]

    async def talk():
        # --8<-- [start:without_grpcio]
        class Shout:
            async def Say(self, request, context):
                return pb2.Text(text=request.text.upper())

        async def size(request, context):
            return str(len(request)).encode()

        second = coracle.aio.Server({"limits.calls": 500})
        second.add(pb2.DESCRIPTOR.services_by_name["Echo"], Shout())
        second.unary_unary("/files.Files/Size", size)
        # --8<-- [end:without_grpcio]
        second_port = second.add_insecure_port("127.0.0.1:0")
        await second.start()
        async with coracle.aio.Channel(f"127.0.0.1:{port}", coracle.insecure()) as channel:
            echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
            assert (await echo.Say(pb2.Text(text="hello"), wait_for_ready=True)).text == "hello"
            assert [one.count async for one in echo.Repeat(pb2.Text(count=3))] == [0, 1, 2]
            assert [one.text async for one in echo.Chat([pb2.Text(text="a")])] == ["a"]
            with pytest.raises(coracle.RpcError, match="INVALID_ARGUMENT: the text is empty"):
                await echo.Say(pb2.Text())
        async with coracle.aio.Channel(f"127.0.0.1:{second_port}", coracle.insecure()) as channel:
            echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
            assert (await echo.Say(pb2.Text(text="hello"))).text == "HELLO"
            assert await channel.unary_unary("/files.Files/Size")(b"12345") == b"5"
        await second.stop()
        os.kill(os.getpid(), signal.SIGTERM)

    async def both():
        await asyncio.wait_for(asyncio.gather(main(), talk()), 60)

    asyncio.run(both())
