"""The code of docs/guides/python.md."""

import asyncio


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
