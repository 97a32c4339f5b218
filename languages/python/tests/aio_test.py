"""coracle.aio: calls of asyncio's tasks."""

import asyncio
import functools

import pytest

import coracle
import coracle.aio


def asynchronous(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 60))
    return run


def echo_of(channel, pb2):
    return coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])


@asynchronous
async def test_a_thousand_calls_at_once(target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        echo = echo_of(channel, pb2)
        replies = await asyncio.gather(*(echo.Say(pb2.Text(count=i)) for i in range(1000)))
        assert [reply.count for reply in replies] == list(range(1000))


@asynchronous
async def test_errors_deadlines_and_metadata(target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        echo = echo_of(channel, pb2)
        with pytest.raises(coracle.RpcError) as caught:
            await echo.Fail(pb2.Text())
        assert caught.value.code() is coracle.StatusCode.NOT_FOUND
        with pytest.raises(coracle.RpcError) as caught:
            await echo.Never(pb2.Text(), timeout=0.05)
        assert caught.value.code() is coracle.StatusCode.DEADLINE_EXCEEDED
        call = echo.Say(pb2.Text(), metadata=(("name", "ada"),))
        await call
        assert ("seen", "ada") in (await call.ended()).initial_metadata()


@asynchronous
async def test_cancelling_a_task_cancels_its_call(service, target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        service.cancelled.clear()
        echo = echo_of(channel, pb2)

        async def wait():
            await echo.Never(pb2.Text())

        task = asyncio.create_task(wait())
        # The server has the call once a later one on the same connection has its answer.
        await asyncio.sleep(0)
        await echo.Say(pb2.Text())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.get_running_loop().run_in_executor(None, service.cancelled.wait, 30)


@asynchronous
async def test_streams(target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        echo = echo_of(channel, pb2)
        assert [one.count async for one in echo.Repeat(pb2.Text(count=500))] == list(range(500))
        assert (await echo.Collect(pb2.Text(text="x") for _ in range(500))).count == 500

        async def texts():
            for i in range(300):
                yield pb2.Text(count=i)

        assert [one.count async for one in echo.Chat(texts())] == list(range(300))
        chat = echo.Chat()
        for i in range(3):
            await chat.write(pb2.Text(count=i))
            assert (await chat.read()).count == i
        await chat.done_writing()
        assert await chat.read() is None
        assert (await chat.ended()).code() is coracle.StatusCode.OK
        failing = echo.Repeat(pb2.Text(text="fail", count=1))
        with pytest.raises(coracle.RpcError):
            _ = [one async for one in failing]


@asynchronous
async def test_misuse_of_a_stream_names_the_call_and_the_rule(target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        echo = echo_of(channel, pb2)
        chat = echo.Chat()
        first = asyncio.create_task(chat.read())
        await asyncio.sleep(0)
        with pytest.raises(coracle.UsageError, match="the call of /languages.test.Echo/Chat has two concurrent reads"):
            await chat.read()

        async def read_elsewhere():
            await chat.read()

        with pytest.raises(coracle.UsageError, match="the call of /languages.test.Echo/Chat was started in another event loop"):
            await asyncio.get_running_loop().run_in_executor(None, asyncio.run, read_elsewhere())
        await chat.write(pb2.Text(count=1))
        assert (await first).count == 1
        await chat.done_writing()
        with pytest.raises(coracle.UsageError, match="the call of /languages.test.Echo/Chat takes no message after its last one"):
            await chat.write(pb2.Text(count=2))
        assert (await chat.ended()).code() is coracle.StatusCode.OK
        with pytest.raises(coracle.RpcError, match="the call of /languages.test.Echo/Chat takes no message any more"):
            await chat.write(pb2.Text(count=3))
        assert await chat.read() is None
        chat.close()
        with pytest.raises(coracle.UsageError, match="CORACLE_INVALID_HANDLE"):
            await chat.done_writing()
        failed = echo.Repeat(pb2.Text(text="fail", count=0))
        assert (await failed.ended()).code() is coracle.StatusCode.ABORTED
        with pytest.raises(coracle.RpcError) as caught:
            await failed.write(pb2.Text())
        assert caught.value.code() is coracle.StatusCode.ABORTED


@asynchronous
async def test_two_writes_that_wait_are_a_usage_error(target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        chat = echo_of(channel, pb2).Chat()
        large = pb2.Text(text="x" * 100_000)

        async def write_all():
            while True:
                await chat.write(large)

        [failed], [waiting] = await asyncio.wait([asyncio.create_task(write_all()), asyncio.create_task(write_all())],
                                                 return_when=asyncio.FIRST_EXCEPTION)
        with pytest.raises(coracle.UsageError, match="the call of /languages.test.Echo/Chat has two concurrent writes"):
            await failed
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


@asynchronous
async def test_an_error_of_the_requests_reaches_the_reader(target, pb2):
    async def broken():
        yield pb2.Text(count=1)
        raise KeyError("mine")

    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        with pytest.raises(KeyError):
            _ = [one async for one in echo_of(channel, pb2).Chat(broken())]


@asynchronous
async def test_a_stream_that_is_dropped_is_cancelled(service, target, pb2):
    async with coracle.aio.Channel(target, coracle.insecure()) as channel:
        echo = echo_of(channel, pb2)
        service.chat_ended.clear()
        chat = echo.Chat()
        await chat.write(pb2.Text(count=1))
        assert (await chat.read()).count == 1
        del chat
        assert await asyncio.get_running_loop().run_in_executor(None, service.chat_ended.wait, 30)


def test_a_channel_serves_one_event_loop_after_the_other(target, pb2):
    channel = coracle.aio.Channel(target, coracle.insecure())
    echo = echo_of(channel, pb2)

    async def say():
        return (await echo.Say(pb2.Text(count=3))).count

    assert [asyncio.run(say()) for _ in range(3)] == [3, 3, 3]


def test_an_event_loop_that_is_closed_releases_its_queue(target, pb2, open_descriptors):
    channel = coracle.aio.Channel(target, coracle.insecure())
    echo = echo_of(channel, pb2)
    kept = []

    async def say():
        waiting = echo.Never(pb2.Text())  # in progress when the loop ends
        return (await echo.Say(pb2.Text(count=3))).count, waiting

    async def chat():
        stream = echo.Chat()
        await stream.write(pb2.Text(count=4))
        return (await stream.read()).count

    for i in range(60):
        assert asyncio.run(say())[0] == 3
        assert asyncio.run(chat()) == 4
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(say())[0] == 3
        loop.close()
        kept.append(loop)
    asyncio.run(say())
    assert open_descriptors(at_most=15) <= 15
