"""coracle.aio.Server: servicers of generated code, called by grpcio's clients and by this package's."""

import asyncio
import functools
import gc
import logging
import os
import socket
import struct
import threading

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

import coracle
import coracle.aio

ECHO = "/languages.test.Echo"


def asynchronous(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 60))
    return run


def servicer(pb2, pb2_grpc):
    """The service of conftest.py, on asyncio."""
    class Echo(pb2_grpc.EchoServicer):
        def __init__(self):
            self.begun = asyncio.Event()
            self.cancelled = asyncio.Event()
            self.generator_closed = asyncio.Event()
            self.done = []
            self.written = 0
            self.in_progress = 0
            self.most = 0

        async def Say(self, request, context):
            sent = dict(context.invocation_metadata())
            if "name" in sent:
                await context.send_initial_metadata((("seen", sent["name"]),))
                context.set_trailing_metadata((("raw-bin", b"\x00\xff"),))
            if request.text == "wait":
                self.in_progress += 1
                self.most = max(self.most, self.in_progress)
                await asyncio.sleep(0.05)
                self.in_progress -= 1
            return request

        async def Never(self, request, context):
            context.add_done_callback(lambda ended: self.done.append((ended.cancelled(), ended.done())))
            self.remaining = context.time_remaining()
            self.peer = context.peer()
            self.begun.set()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                assert context.cancelled() and context.done()
                self.cancelled.set()
                raise

        async def Fail(self, request, context):
            if request.text == "throw":
                raise KeyError("x" * 100_000)
            if request.text == "surrogate":
                raise ValueError("\udcff")
            if request.text == "code":
                context.set_code(grpc.StatusCode.DATA_LOSS)
                context.set_details("as it was set")
                return request
            if request.text == "code and throw":
                context.set_code(coracle.StatusCode.OUT_OF_RANGE)
                raise ValueError("beyond")
            if request.text == "bad metadata":
                context.set_trailing_metadata((("a key", "x"),))
                return request
            if request.text == "no message":
                return None
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such name", (("reason-bin", b"\x01\x02"),))

        async def Collect(self, requests, context):
            texts = [one.text async for one in requests]
            return pb2.Text(text="".join(texts), count=len(texts))

        async def Unread(self, requests, context):
            self.begun.set()
            await asyncio.sleep(600)

        async def Repeat(self, request, context):
            try:
                for i in range(request.count):
                    yield pb2.Text(text=request.text, count=i)
                    self.written = i + 1
                if request.text == "fail":
                    await context.abort(grpc.StatusCode.ABORTED, "after the replies")
                if request.text == "throw":
                    raise KeyError("after the replies")
            finally:
                self.generator_closed.set()

        async def Chat(self, requests, context):
            while (request := await context.read()) is not None:
                await context.write(request)

    return Echo()


class Serving:
    """A server on a port with plaintext, and grpcio's stub for it."""

    def __init__(self, pb2, pb2_grpc, options=None):
        self.server = coracle.aio.Server(options)
        self.service = servicer(pb2, pb2_grpc)
        pb2_grpc.add_EchoServicer_to_server(self.service, self.server)
        self._pb2_grpc = pb2_grpc

    async def __aenter__(self):
        self.target = f"127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        await self.server.start()
        # Without its probes grpcio keeps its window, which otherwise grows with the bandwidth.
        options = [("grpc.max_receive_message_length", -1), ("grpc.http2.bdp_probe", 0)]
        self._channel = grpc.aio.insecure_channel(self.target, options)
        self.stub = self._pb2_grpc.EchoStub(self._channel)
        return self

    async def __aexit__(self, *_):
        await self._channel.close()
        await self.server.stop()
        assert not self.server._calls and not self.server._leaving


@asynchronous
async def test_each_kind_of_call_of_generated_code(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        echo = serving.stub
        assert await echo.Say(pb2.Text(text="hello", count=3)) == pb2.Text(text="hello", count=3)
        assert [one.count async for one in echo.Repeat(pb2.Text(count=500))] == list(range(500))
        assert (await echo.Collect(pb2.Text(text="x") for _ in range(500))) == pb2.Text(text="x" * 500, count=500)

        async def texts():
            for i in range(500):
                yield pb2.Text(count=i)

        assert [one.count async for one in echo.Chat(texts())] == list(range(500))
        chat = echo.Chat()
        for i in range(3):
            await chat.write(pb2.Text(count=i))
            assert (await chat.read()).count == i
        await chat.done_writing()
        assert await chat.read() is grpc.aio.EOF
        assert await chat.code() is grpc.StatusCode.OK


def test_clients_with_threads(pb2, pb2_grpc):
    async def run():
        async with Serving(pb2, pb2_grpc) as serving:
            def call():
                with grpc.insecure_channel(serving.target) as channel:
                    echo = pb2_grpc.EchoStub(channel)
                    assert echo.Say(pb2.Text(text="hello"), timeout=30).text == "hello"
                    assert [one.count for one in echo.Repeat(pb2.Text(count=100))] == list(range(100))
                    assert echo.Collect(iter([pb2.Text(text="a"), pb2.Text(text="b")])).text == "ab"
                    assert [one.count for one in echo.Chat(pb2.Text(count=i) for i in range(100))] == list(range(100))
                with coracle.Channel(serving.target, coracle.insecure()) as channel:
                    ours = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
                    assert ours.Say(pb2.Text(text="hello")).text == "hello"
                    assert [one.count for one in ours.Chat(pb2.Text(count=i) for i in range(100))] == list(range(100))

            await asyncio.gather(*(asyncio.get_running_loop().run_in_executor(None, call) for _ in range(4)))

    asyncio.run(asyncio.wait_for(run(), 60))


@asynchronous
async def test_a_client_of_the_same_event_loop(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving, coracle.aio.Channel(serving.target, coracle.insecure()) as channel:
        echo = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
        assert (await echo.Say(pb2.Text(count=3))).count == 3
        assert [one.count async for one in echo.Repeat(pb2.Text(count=100))] == list(range(100))
        with pytest.raises(coracle.RpcError, match="NOT_FOUND: no such name"):
            await echo.Fail(pb2.Text())


@asynchronous
async def test_a_thousand_calls_at_once(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        replies = await asyncio.gather(*(serving.stub.Say(pb2.Text(text="wait", count=i)) for i in range(1000)))
        assert [reply.count for reply in replies] == list(range(1000))
        assert serving.service.most > 100


@asynchronous
async def test_metadata_travels_both_ways(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        call = serving.stub.Say(pb2.Text(text="x"), metadata=(("name", "ada"),))
        await call
        assert ("seen", "ada") in tuple(await call.initial_metadata())
        assert ("raw-bin", b"\x00\xff") in tuple(await call.trailing_metadata())


@asynchronous
async def test_errors_of_handlers(pb2, pb2_grpc, caplog):
    async with Serving(pb2, pb2_grpc) as serving:
        async def failure(text):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await serving.stub.Fail(pb2.Text(text=text))
            return caught.value

        aborted = await failure("")
        assert (aborted.code(), aborted.details()) == (grpc.StatusCode.NOT_FOUND, "no such name")
        assert ("reason-bin", b"\x01\x02") in tuple(aborted.trailing_metadata())
        assert not caplog.records
        thrown = await failure("throw")
        assert thrown.code() is grpc.StatusCode.UNKNOWN and thrown.details().startswith("KeyError: 'xxx")
        assert len(thrown.details()) < 1100
        assert "the handler of /languages.test.Echo/Fail threw KeyError" in caplog.text
        assert (await failure("surrogate")).details() == "ValueError: ?"
        as_set = await failure("code")
        assert (as_set.code(), as_set.details()) == (grpc.StatusCode.DATA_LOSS, "as it was set")
        both = await failure("code and throw")
        assert (both.code(), both.details()) == (grpc.StatusCode.OUT_OF_RANGE, "ValueError: beyond")
        refused = await failure("bad metadata")
        assert refused.code() is grpc.StatusCode.INTERNAL and "cannot be sent" in refused.details()
        nothing = await failure("no message")
        assert nothing.code() is grpc.StatusCode.UNKNOWN and "TypeError" in nothing.details()

        replies = serving.stub.Repeat(pb2.Text(text="fail", count=3))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            _ = [one async for one in replies]
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.ABORTED, "after the replies")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            _ = [one async for one in serving.stub.Repeat(pb2.Text(text="throw", count=3))]
        assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNKNOWN, "KeyError: 'after the replies'")


@asynchronous
async def test_methods_that_are_missing_end_with_unimplemented(pb2, pb2_grpc):
    class Bare(pb2_grpc.EchoServicer):
        pass

    server = coracle.aio.Server()
    pb2_grpc.add_EchoServicer_to_server(Bare(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        for call in (pb2_grpc.EchoStub(channel).Say(pb2.Text()), channel.unary_unary("/languages.test.Other/Say")(b"")):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
        assert caught.value.details() == "the server has no method /languages.test.Other/Say"
    await server.stop()


@asynchronous
async def test_requests_that_are_broken(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving, grpc.aio.insecure_channel(serving.target) as channel:
        for call in (channel.unary_unary(f"{ECHO}/Say")(b"\xff\xff\xff"),
                     channel.stream_unary(f"{ECHO}/Collect")(iter([b"\xff\xff\xff"]))):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.INTERNAL and "cannot be decoded" in caught.value.details()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            _ = [one async for one in channel.stream_stream(f"{ECHO}/Repeat")(iter(()))]
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED and "one request" in caught.value.details()


@asynchronous
async def test_a_deadline_cancels_the_handler(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await serving.stub.Never(pb2.Text(), timeout=0.3)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await serving.service.cancelled.wait()
        assert 0 < serving.service.remaining < 1  # clients round it up
        assert serving.service.peer.startswith("127.0.0.1:")
        assert serving.service.done == [(True, True)]


@asynchronous
async def test_cancelling_a_call_cancels_its_handler(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        call = serving.stub.Never(pb2.Text())
        await serving.service.begun.wait()
        assert serving.service.remaining is None
        call.cancel()
        await serving.service.cancelled.wait()
        replies = serving.stub.Repeat(pb2.Text(count=100_000_000))
        assert (await replies.read()).count == 0
        replies.cancel()
        await serving.service.generator_closed.wait()
        while serving.server._calls:
            await asyncio.sleep(0.01)


@asynchronous
async def test_a_client_that_goes_away_leaves_nothing(pb2, pb2_grpc, open_descriptors):
    async with Serving(pb2, pb2_grpc) as serving:
        for _ in range(20):
            serving.service.cancelled.clear()
            serving.service.begun.clear()
            # In another process: this one's poller of grpcio would keep the connection.
            client = await asyncio.create_subprocess_exec(
                os.sys.executable, "-c", "import sys, coracle\n"
                "channel = coracle.Channel(sys.argv[1], coracle.insecure())\n"
                "reading = channel.unary_stream('/languages.test.Echo/Repeat')(b'\\x10\\xff\\xff\\xff\\x07')\n"
                "next(reading)\n"
                "call = channel.unary_unary('/languages.test.Echo/Never').future(b'')\n"
                "import time; time.sleep(600)\n", serving.target)
            await serving.service.begun.wait()
            client.kill()
            await client.wait()
            await serving.service.cancelled.wait()
            await serving.service.generator_closed.wait()
        while serving.server._leaving or serving.server._calls:
            await asyncio.sleep(0.01)
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, coracle.aio.Context)]
    assert await asyncio.get_running_loop().run_in_executor(None, open_descriptors, 10) <= 10


@asynchronous
async def test_a_reader_that_is_slow_holds_the_handler_back(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        large = "x" * 100_000
        replies = serving.stub.Repeat(pb2.Text(text=large, count=1000))
        assert (await replies.read()).count == 0
        before = -1
        while before != serving.service.written:
            before = serving.service.written
            await asyncio.sleep(0.3)
        assert before < 200  # 100 MB are to be written
        counts = [(await replies.read()).count for _ in range(999)]
        assert counts == list(range(1, 1000)) and await replies.read() is grpc.aio.EOF
        assert serving.service.written == 1000


@asynchronous
async def test_a_handler_that_does_not_read_holds_the_client_back(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc) as serving:
        call = serving.stub.Unread()
        sent = 0

        async def send():
            nonlocal sent
            while True:
                await call.write(pb2.Text(text="x" * 100_000))
                sent += 1

        sending = asyncio.create_task(send())
        await serving.service.begun.wait()
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.3)
        assert sent < 200
        sending.cancel()
        call.cancel()


@asynchronous
async def test_big_messages_and_the_limit_of_their_size(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc, {"max_receive_bytes": 20 << 20}) as serving:
        big = pb2.Text(text="x" * (16 << 20))
        assert await serving.stub.Say(big) == big

        async def bigs():
            for _ in range(3):
                yield big

        async for one in serving.stub.Chat(bigs()):
            assert one == big
        for call in (serving.stub.Say(pb2.Text(text="x" * (21 << 20))), serving.stub.Collect(iter([pb2.Text(text="x" * (21 << 20))]))):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "max_receive_bytes" in caught.value.details()


@asynchronous
async def test_more_calls_than_the_limit_end_with_unavailable(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc, {"limits.calls": 2}) as serving:
        waiting = [serving.stub.Never(pb2.Text()) for _ in range(2)]
        while len(serving.server._calls) < 2:
            await asyncio.sleep(0.01)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await serving.stub.Say(pb2.Text())
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        for call in waiting:
            call.cancel()


@asynchronous
async def test_stop_waits_for_calls_and_then_cancels_them(pb2, pb2_grpc):
    serving = Serving(pb2, pb2_grpc)
    async with serving:
        running = asyncio.create_task(say(serving, pb2))
        while not serving.service.in_progress:
            await asyncio.sleep(0.001)
        assert await serving.server.wait_for_termination(0.01) is True
        waiting = asyncio.create_task(serving.server.wait_for_termination())
        await serving.server.stop(30)
        assert (await running).count == 7
        assert await waiting is False
        await serving.server.stop()
        with pytest.raises(coracle.UsageError, match="was stopped"):
            serving.server.add_insecure_port("127.0.0.1:0")
        with pytest.raises(coracle.UsageError, match="it is stopped"):
            await serving.server.start()
    serving = Serving(pb2, pb2_grpc)
    async with serving:
        call = serving.stub.Never(pb2.Text())
        await serving.service.begun.wait()
        slow = asyncio.create_task(serving.server.stop(600))
        await asyncio.sleep(0)
        assert not slow.done()
        await serving.server.stop(0)
        await slow
        assert serving.service.cancelled.is_set()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


async def say(serving, pb2):
    return await serving.stub.Say(pb2.Text(text="wait", count=7))


@asynchronous
async def test_calls_before_start_wait_for_it(pb2, pb2_grpc):
    server = coracle.aio.Server()
    first, second = server.add_insecure_port("127.0.0.1:0"), server.add_insecure_port("127.0.0.1:0")
    assert first != second and first and second
    service = servicer(pb2, pb2_grpc)
    pb2_grpc.add_EchoServicer_to_server(service, server)  # after the ports
    for port in (first, second):
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            echo = pb2_grpc.EchoStub(channel)
            early = echo.Say(pb2.Text(count=5))
            gone = echo.Never(pb2.Text())
            if port == first:
                while len(server._calls) < 2:
                    await asyncio.sleep(0.01)
                gone.cancel()
                while len(server._calls) > 1:
                    await asyncio.sleep(0.01)
                await server.start()
            assert (await early).count == 5
            gone.cancel()
            assert [one.count async for one in echo.Repeat(pb2.Text(count=3))] == [0, 1, 2]
            assert [one.count async for one in echo.Chat([pb2.Text(count=1), pb2.Text(count=2)])] == [1, 2]
    await server.stop()


@asynchronous
async def test_handlers_by_path_and_by_descriptor(pb2):
    class Echo:
        async def Say(self, request, context):
            return request

        def Repeat(self, request, context):
            return (pb2.Text(count=i) for i in range(request.count))

    async def upper(request, context):
        assert context.method() == "/any/Upper"
        return request.upper()

    async def count(requests, context):
        return str(len([one async for one in requests])).encode()

    async def words(request, context):
        for word in request.split():
            await context.write(word)

    async def echo(requests, context):
        async for one in requests:
            yield one

    server = coracle.aio.Server()
    server.add(pb2.DESCRIPTOR.services_by_name["Echo"], Echo())
    server.unary_unary("/any/Upper", upper)
    server.unary_stream("/any/Words", words)
    server.stream_unary("/any/Count", count)
    server.stream_stream("/any/Echo", echo)
    with pytest.raises(coracle.UsageError, match="/any/Upper was added twice"):
        server.unary_unary("/any/Upper", upper)
    async with server:
        port = server.add_insecure_port("localhost:0")
        await server.start()
        async with coracle.aio.Channel(f"localhost:{port}", coracle.insecure()) as channel:
            assert await channel.unary_unary("/any/Upper")(b"abc") == b"ABC"
            assert [one async for one in channel.unary_stream("/any/Words")(b"one two")] == [b"one", b"two"]
            assert await channel.stream_unary("/any/Count")([b"", b""]) == b"2"
            assert [one async for one in channel.stream_stream("/any/Echo")([b"a", b"b"])] == [b"a", b"b"]
            ours = coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])
            assert (await ours.Say(pb2.Text(count=1))).count == 1
            assert [one.count async for one in ours.Repeat(pb2.Text(count=3))] == [0, 1, 2]
            with pytest.raises(coracle.RpcError, match="UNIMPLEMENTED"):
                await ours.Never(pb2.Text())


@asynchronous
async def test_generic_handlers_of_grpcio(pb2):
    class Any(grpc.GenericRpcHandler):
        def service(self, details):
            if not details.method.startswith("/any/") or ("pass", "yes") not in details.invocation_metadata:
                return None

            async def reply(request, context):
                return request + details.method.encode()

            return grpc.unary_unary_rpc_method_handler(reply)

    server = coracle.aio.Server()
    server.add_generic_rpc_handlers((Any(),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        assert await channel.unary_unary("/any/Thing")(b"of ", metadata=(("pass", "yes"),)) == b"of /any/Thing"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/any/Thing")(b"")
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    await server.stop()


@asynchronous
async def test_interceptors_of_grpcio(pb2, pb2_grpc, caplog):
    seen = []

    class Log(grpc.aio.ServerInterceptor):
        async def intercept_service(self, continuation, handler_call_details):
            seen.append(handler_call_details.method)
            handler = await continuation(handler_call_details)
            seen.append("found")
            return handler

    class Check(grpc.aio.ServerInterceptor):
        async def intercept_service(self, continuation, handler_call_details):
            sent = dict(handler_call_details.invocation_metadata)
            if sent.get("token") == "refuse":
                async def refuse(request, context):
                    await context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")

                return grpc.unary_unary_rpc_method_handler(refuse)
            if sent.get("token") == "throw":
                raise KeyError("mine")
            if sent.get("token") == "nothing":
                return None
            if sent.get("token") == "stream":
                return grpc.unary_stream_rpc_method_handler(None)
            handler = await continuation(handler_call_details)
            if sent.get("token") != "twice":
                return handler

            async def twice(request, context):
                reply = await handler.unary_unary(request, context)
                return reply + reply if isinstance(reply, bytes) else pb2.Text(text=reply.text * 2)

            return handler._replace(unary_unary=twice)

    async def same(request, context):
        return request

    server = coracle.aio.Server(interceptors=[Log(), Check()])
    pb2_grpc.add_EchoServicer_to_server(servicer(pb2, pb2_grpc), server)
    server.unary_unary("/any/Same", same)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        echo = pb2_grpc.EchoStub(channel)
        assert (await echo.Say(pb2.Text(text="a"))).text == "a"
        assert seen == [f"{ECHO}/Say", "found"]
        assert (await echo.Say(pb2.Text(text="a"), metadata=(("token", "twice"),))).text == "aa"
        assert await channel.unary_unary("/any/Same")(b"b", metadata=(("token", "twice"),)) == b"bb"
        assert [one.count async for one in echo.Repeat(pb2.Text(count=2))] == [0, 1]
        for call in (echo.Say(pb2.Text(), metadata=(("token", "refuse"),)),
                     echo.Collect(iter([pb2.Text()]), metadata=(("token", "refuse"),))):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await call
            assert (caught.value.code(), caught.value.details()) == (grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        assert not caplog.records
        for token, text in (("throw", "KeyError: 'mine'"), ("nothing", "returned no handler"), ("stream", "a handler of streams")):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await echo.Say(pb2.Text(), metadata=(("token", token),))
            assert caught.value.code() is grpc.StatusCode.UNKNOWN and text in caught.value.details()
    await server.stop()


@asynchronous
async def test_health_and_reflection_of_grpcio(pb2):
    """Services that are generated code of others."""
    server = coracle.aio.Server()
    state = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(state, server)
    names = [health.SERVICE_NAME, reflection.SERVICE_NAME]
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(reflection.aio.ReflectionServicer(names), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        asking = health_pb2_grpc.HealthStub(channel)
        status = health_pb2.HealthCheckResponse
        assert (await asking.Check(health_pb2.HealthCheckRequest())).status == status.SERVING
        watching = asking.Watch(health_pb2.HealthCheckRequest())
        assert (await watching.read()).status == status.SERVING
        await state.set("", status.NOT_SERVING)
        assert (await watching.read()).status == status.NOT_SERVING
        watching.cancel()
        listed = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo(
            iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        assert [service.name async for reply in listed for service in reply.list_services_response.service] == names
    await server.stop()


@asynchronous
async def test_tls_with_certificates_of_clients(pb2, pb2_grpc, certificates):
    def read(name):
        return (certificates / name).read_bytes()

    class Echo(pb2_grpc.EchoServicer):
        async def Say(self, request, context):
            self.security = context.security()
            self.seen = (context.peer_identity_key(), context.peer_identities(), context.auth_context())
            return request

    server, service = coracle.aio.Server(), Echo()
    pb2_grpc.add_EchoServicer_to_server(service, server)
    with pytest.raises(coracle.UsageError, match="coracle.server_tls"):
        server.add_secure_port("localhost:0", grpc.ssl_server_credentials([(read("server.key"), read("server.pem"))]))
    with pytest.raises(coracle.UsageError, match="CORACLE_INVALID_ARGUMENT"):
        server.add_secure_port("localhost:0", coracle.server_tls(certificate="none", key="none"))
    texts = server.add_secure_port("localhost:0", coracle.server_tls(certificate=read("server.pem"), key=read("server.key")))
    files = server.add_secure_port("localhost:0", coracle.server_tls(
        certificate_file=str(certificates / "server.pem"), key_file=str(certificates / "server.key"),
        client_ca_file=str(certificates / "ca.pem")))
    plain = server.add_insecure_port("localhost:0")
    await server.start()
    anonymous = grpc.ssl_channel_credentials(read("ca.pem"))
    known = grpc.ssl_channel_credentials(read("ca.pem"), read("client.key"), read("client.pem"))
    async with grpc.aio.secure_channel(f"localhost:{texts}", anonymous) as channel:
        assert (await pb2_grpc.EchoStub(channel).Say(pb2.Text(count=3))).count == 3
        assert service.seen == (None, None, {"transport_security_type": [b"ssl"]})
    async with grpc.aio.secure_channel(f"localhost:{files}", known) as channel:
        assert (await pb2_grpc.EchoStub(channel).Say(pb2.Text(count=3))).count == 3
        key, identities, properties = service.seen
        assert key == "x509_subject_alternative_name"
        assert identities == [b"ada.example", b"spiffe://example/ada", b"ada@example"]
        assert properties["x509_common_name"] == [b"ada"] and properties["x509_pem_cert"][0].startswith(b"-----BEGIN CERTIFICATE")
        assert ("type", b"tls") in service.security and ("uri", b"spiffe://example/ada") in service.security
    async with grpc.aio.insecure_channel(f"localhost:{plain}") as channel:
        assert (await pb2_grpc.EchoStub(channel).Say(pb2.Text(count=3))).count == 3
        assert service.security == () and service.seen == (None, None, {})
    async with grpc.aio.secure_channel(f"localhost:{files}", anonymous) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await pb2_grpc.EchoStub(channel).Say(pb2.Text())
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await server.stop()


@asynchronous
async def test_servers_may_share_a_port(pb2, pb2_grpc):
    async with Serving(pb2, pb2_grpc, {"reuse_port": True}) as first:
        second = coracle.aio.Server({"reuse_port": True})
        pb2_grpc.add_EchoServicer_to_server(servicer(pb2, pb2_grpc), second)
        assert second.add_insecure_port(first.target) == int(first.target.rpartition(":")[2])
        await second.start()
        await first.server.stop()
        async with grpc.aio.insecure_channel(first.target) as channel:
            assert (await pb2_grpc.EchoStub(channel).Say(pb2.Text(count=3))).count == 3
        await second.stop()


@asynchronous
async def test_misuse_says_how_to_go_on(pb2, pb2_grpc):
    with pytest.raises(coracle.UsageError, match="has no option colour; it has .*limits.calls"):
        coracle.aio.Server({"colour": "red"}).add_insecure_port("127.0.0.1:0")
    with pytest.raises(coracle.UsageError, match="no port: call add_insecure_port"):
        await coracle.aio.Server().start()
    async with Serving(pb2, pb2_grpc) as serving:
        with pytest.raises(coracle.UsageError, match="CORACLE_FAILED"):
            serving.server.add_insecure_port(serving.target)  # in use

        async def elsewhere():
            serving.server.add_insecure_port("127.0.0.1:0")

        with pytest.raises(coracle.UsageError, match="in another event loop"):
            await asyncio.get_running_loop().run_in_executor(None, asyncio.run, elsewhere())
        with pytest.raises(coracle.UsageError, match="in a coroutine"):
            await asyncio.get_running_loop().run_in_executor(None, serving.server.add_insecure_port, "127.0.0.1:0")
        with pytest.raises(ValueError, match="not a number"):
            await serving.server.stop(float("nan"))


@asynchronous
async def test_misuse_of_a_context(pb2, pb2_grpc):
    seen = []

    async def misuse(requests, context):
        first = asyncio.create_task(context.read())
        await asyncio.sleep(0)
        with pytest.raises(coracle.UsageError, match="the call of /any/Misuse has two concurrent reads"):
            await context.read()
        with pytest.raises(coracle.UsageError, match="is no status code"):
            context.set_code("NOT_FOUND")
        with pytest.raises(coracle.UsageError, match="OK is none"):
            await context.abort(coracle.StatusCode.OK)
        with pytest.raises(coracle.UsageError, match="the call of /any/Misuse has one reply: return it"):
            await context.write(b"reply")
        seen.append(await first)
        seen.append(context)
        return b"reply"

    async def two_writes(request, context):
        seen.append(context)

        async def write_all():
            while True:
                await context.write(bytes(100_000))

        [failed], [waiting] = await asyncio.wait([asyncio.create_task(write_all()), asyncio.create_task(write_all())],
                                                 return_when=asyncio.FIRST_EXCEPTION)
        with pytest.raises(coracle.UsageError, match="the call of /any/Two has two concurrent writes"):
            await failed
        waiting.cancel()
        with pytest.raises(coracle.UsageError, match="the call of /any/Two has one request"):
            await context.read()
        await context.abort(coracle.StatusCode.ABORTED, "both")

    server = coracle.aio.Server()
    server.stream_unary("/any/Misuse", misuse)
    server.unary_stream("/any/Two", two_writes)
    async with server:
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with coracle.aio.Channel(f"127.0.0.1:{port}", coracle.insecure()) as channel:
            assert await channel.stream_unary("/any/Misuse")([b"one"]) == b"reply"
            assert (await channel.unary_stream("/any/Two")(b"").ended()).details() == "both"
        assert seen[0] == b"one" and seen[1].done() and not seen[1].cancelled()
        late = []
        seen[1].add_done_callback(late.append)
        assert late == [seen[1]]
        with pytest.raises(coracle.RpcError, match="it takes no reply any more"):
            await seen[2].write(b"late")


def test_an_event_loop_that_ends_ends_its_servers(pb2, pb2_grpc, open_descriptors):
    ports = []

    async def serve():
        server = coracle.aio.Server()
        pb2_grpc.add_EchoServicer_to_server(servicer(pb2, pb2_grpc), server)
        ports.append(server.add_insecure_port("127.0.0.1:0"))
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{ports[-1]}") as channel:
            echo = pb2_grpc.EchoStub(channel)
            assert (await echo.Say(pb2.Text(count=3))).count == 3
            call = echo.Never(pb2.Text())
            while len(server._calls) < 1:
                await asyncio.sleep(0.01)
            return call

    for _ in range(20):
        asyncio.run(serve())

    async def nothing():
        coracle.aio._completions.of_running_loop()

    asyncio.run(nothing())
    gc.collect()
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port)).close()
    assert open_descriptors(at_most=10) <= 10


def test_a_forked_child_is_refused_in_words(pb2):
    asyncio.run(asyncio.sleep(0))
    _ = coracle.aio.Server
    with coracle.Channel("127.0.0.1:1", coracle.insecure()):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            async def serve():
                coracle.aio.Server().add_insecure_port("127.0.0.1:0")

            try:
                asyncio.run(serve())
            except coracle.UsageError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(read) as text:
            assert "the process was forked after its parent had used the library; start a new program instead" in text.read()


def test_bytes_that_are_no_protocol_disturb_no_other_call(pb2, pb2_grpc):
    """Metadata that is not ASCII, from a client that does not check it."""
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload

    def literal(name, value):
        return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value

    async def run():
        async with Serving(pb2, pb2_grpc) as serving:
            reader, writer = await asyncio.open_connection(*serving.target.split(":"))
            headers = b"".join(literal(name, value) for name, value in (
                (b":method", b"POST"), (b":scheme", b"http"), (b":path", f"{ECHO}/Say".encode()), (b":authority", b"x"),
                (b"content-type", b"application/grpc"), (b"te", b"trailers"), (b"name", b"\xff\xfe")))
            writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(1, 4, 1, headers)
                         + frame(0, 1, 1, b"\0\0\0\0\0"))
            await writer.drain()
            await reader.read(100)
            assert (await serving.stub.Say(pb2.Text(count=3))).count == 3
            writer.close()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_program_of_threads_keeps_serving(pb2, pb2_grpc):
    """The event loop runs in a thread beside the main one, as in programs that are not asyncio's."""
    ready, address = threading.Event(), []
    loop = asyncio.new_event_loop()

    async def serve():
        server = coracle.aio.Server()
        pb2_grpc.add_EchoServicer_to_server(servicer(pb2, pb2_grpc), server)
        address.append(f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}")
        await server.start()
        address.append(server)
        ready.set()
        await server.wait_for_termination()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    with grpc.insecure_channel(address[0]) as channel:
        assert pb2_grpc.EchoStub(channel).Say(pb2.Text(count=9)).count == 9
    loop.call_soon_threadsafe(lambda: loop.create_task(address[1].stop(5)))
    thread.join(30)
    assert not thread.is_alive()
    loop.close()


logging.getLogger("asyncio").setLevel(logging.ERROR)
