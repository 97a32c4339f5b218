"""coracle.Channel: calls of threads."""

import datetime
import os
import signal
import threading
import time

import pytest

import coracle


@pytest.fixture
def channel(target):
    with coracle.Channel(target, coracle.insecure()) as made:
        yield made


@pytest.fixture
def echo(channel, pb2):
    return coracle.stub(channel, pb2.DESCRIPTOR.services_by_name["Echo"])


def test_a_unary_call_returns_its_reply(echo, pb2):
    assert echo.Say(pb2.Text(text="hello")) == pb2.Text(text="hello")


def test_stubs_of_grpcios_plugin_take_the_channel(channel, pb2, pb2_grpc):
    stub = pb2_grpc.EchoStub(channel)
    assert stub.Say(pb2.Text(text="hello"), timeout=30).text == "hello"
    assert [one.count for one in stub.Repeat(pb2.Text(text="a", count=3))] == [0, 1, 2]


def test_methods_without_serializers_take_bytes(channel, pb2):
    say = channel.unary_unary("/languages.test.Echo/Say")
    assert say(pb2.Text(text="x").SerializeToString()) == pb2.Text(text="x").SerializeToString()


def test_metadata_travels_both_ways(echo, pb2):
    reply, call = echo.Say.with_call(pb2.Text(text="x"), metadata=(("name", "ada"),))
    assert reply.text == "x"
    assert call.code() is coracle.StatusCode.OK
    assert ("seen", "ada") in call.initial_metadata()
    assert ("raw-bin", b"\x00\xff") in call.trailing_metadata()


def test_an_error_has_code_text_and_trailing_metadata(echo, pb2):
    with pytest.raises(coracle.RpcError) as caught:
        echo.Fail(pb2.Text())
    assert caught.value.code() is coracle.StatusCode.NOT_FOUND
    assert caught.value.details() == "no such name"
    assert ("reason-bin", b"\x01\x02") in caught.value.trailing_metadata()
    assert str(caught.value) == "NOT_FOUND: no such name"


def test_a_deadline_ends_a_call(echo, pb2):
    for timeout in (0.05, 0, -1):
        with pytest.raises(coracle.RpcError) as caught:
            echo.Never(pb2.Text(), timeout=timeout)
        assert caught.value.code() is coracle.StatusCode.DEADLINE_EXCEEDED


def test_a_deadline_covers_the_wait_for_a_connection(pb2):
    with coracle.Channel("127.0.0.1:1", coracle.insecure()) as nowhere:
        say = coracle.stub(nowhere, pb2.DESCRIPTOR.services_by_name["Echo"]).Say
        with pytest.raises(coracle.RpcError) as caught:
            say(pb2.Text(), timeout=0.05, wait_for_ready=True)
        assert caught.value.code() is coracle.StatusCode.DEADLINE_EXCEEDED
        with pytest.raises(coracle.RpcError) as caught:
            say(pb2.Text(), timeout=30)
        assert caught.value.code() is coracle.StatusCode.UNAVAILABLE


def test_any_number_of_seconds_is_a_timeout(echo, pb2):
    for timeout in (1e9, 1e300, float("inf")):
        assert echo.Say(pb2.Text(count=1), timeout=timeout).count == 1
        assert echo.Say.future(pb2.Text(count=2), timeout=timeout).result(timeout).count == 2
    never = echo.Never.future(pb2.Text())
    for timeout in (0, -1e300, float("-inf")):
        with pytest.raises(coracle.RpcError) as caught:
            echo.Never(pb2.Text(), timeout=timeout)
        assert caught.value.code() is coracle.StatusCode.DEADLINE_EXCEEDED
        with pytest.raises(TimeoutError):
            never.result(timeout)
    never.cancel()
    for wrong in (echo.Say, echo.Say.future, echo.Repeat, lambda _, timeout: never.result(timeout)):
        with pytest.raises(ValueError, match="not a number"):
            wrong(pb2.Text(), timeout=float("nan"))


def test_what_http_cannot_carry_is_a_usage_error(channel, target):
    for path in ("", "a.B/C", "/a.B/C\r\nx: y", "/a.B/C D", "/a.B/Ü"):
        for method in (channel.unary_unary(path), channel.unary_unary(path).future, channel.unary_stream(path)):
            with pytest.raises(coracle.UsageError, match='is not valid in HTTP: write "/package.Service/Method"'):
                method(b"")
    for wrong in ("", "a host:1", "host\r\nx: y:1", "127.0.0.1:65536", "nosuch://x"):
        with pytest.raises(coracle.UsageError, match="CORACLE_INVALID_ARGUMENT"):
            coracle.Channel(wrong, coracle.insecure())
    # The C interface would take the texts up to the zero.
    with pytest.raises(ValueError, match="null character"):
        channel.unary_unary("/a.B/C\0D")(b"")
    with pytest.raises(ValueError, match="null character"):
        coracle.Channel(target + "\0x", coracle.insecure())
    with pytest.raises(ValueError, match="the option user_agent has an embedded null character"):
        coracle.Channel(target, coracle.insecure(), {"user_agent": "a\0b"})


def interrupt_after(seconds, number=signal.SIGINT):
    """Sends a signal to this process from another thread, as the terminal does at Ctrl-C. The list gets the time when it was sent."""
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), number)

    timer = threading.Timer(seconds, send)
    timer.start()
    return timer, sent


def test_ctrl_c_ends_every_call_that_blocks(service, echo, pb2):
    large = pb2.Text(text="x" * 1_000_000)
    silent = threading.Event()

    def requests_that_do_not_come():
        silent.wait(30)
        yield from ()

    blocking = {
        "unary": lambda: echo.Never(pb2.Text()),
        "with_call": lambda: echo.Never.with_call(pb2.Text(), timeout=30),
        "future": lambda: echo.Never.future(pb2.Text()).result(),
        "future with a timeout": lambda: echo.Never.future(pb2.Text()).result(timeout=30),
        "replies": lambda: next(echo.Chat(requests_that_do_not_come())),
        "requests": lambda: echo.Unread(large for _ in range(1000)),
    }
    for name, call in blocking.items():
        service.cancelled.clear()
        timer, sent = interrupt_after(0.3)
        with pytest.raises(KeyboardInterrupt):
            call()
        # The promise is 0.2 s; a machine that is busy needs longer, and without the interrupt it is 30.
        assert time.monotonic() - sent[0] < 2, name
        timer.join()
        if name in ("unary", "with_call", "requests"):
            assert service.cancelled.wait(30), name
        assert echo.Say(pb2.Text(count=1)).count == 1, name
    silent.set()


def test_a_handler_of_a_signal_runs_during_a_call_and_may_call(echo, pb2):
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append((time.monotonic(), echo.Say(pb2.Text(count=7)).count)))
    try:
        timer, sent = interrupt_after(0.2, signal.SIGUSR1)
        with pytest.raises(coracle.RpcError) as caught:
            echo.Never(pb2.Text(), timeout=3)
        assert caught.value.code() is coracle.StatusCode.DEADLINE_EXCEEDED
        timer.join()
        [(at, count)] = seen
        assert count == 7 and at - sent[0] < 2  # before the end of the call
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_channel_that_is_dropped_releases_its_connection(target, pb2, open_descriptors):
    service = pb2.DESCRIPTOR.services_by_name["Echo"]
    for i in range(50):
        stub = coracle.stub(coracle.Channel(target, coracle.insecure()), service)
        assert stub.Say(pb2.Text(count=i)).count == i
        assert len(list(stub.Repeat(pb2.Text(count=2)))) == 2
        assert stub.Say.future(pb2.Text(count=i)).result().count == i
        stub.Say.future(pb2.Text(count=i))  # dropped: its event stays in the queue
    del stub
    assert open_descriptors(at_most=10) <= 10


def test_a_thousand_futures(echo, pb2):
    calls = [echo.Say.future(pb2.Text(count=i)) for i in range(1000)]
    assert [call.result(30).count for call in calls] == list(range(1000))
    assert all(call.done() and call.exception() is None for call in calls)


def test_threads_wait_for_each_others_futures(echo, pb2):
    calls = [echo.Say.future(pb2.Text(count=i)) for i in range(200)]
    results = [None] * len(calls)

    def wait(first):
        for i in range(first, len(calls), 4):
            results[i] = calls[i].result().count

    threads = [threading.Thread(target=wait, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == list(range(200))


def test_a_future_can_be_cancelled_and_has_callbacks(echo, pb2):
    call = echo.Never.future(pb2.Text())
    ended = threading.Event()
    call.add_done_callback(lambda _: ended.set())
    with pytest.raises(TimeoutError):
        call.result(timeout=0.01)
    call.cancel()
    assert ended.wait(30)
    assert call.exception().code() is coracle.StatusCode.CANCELLED


def test_a_callback_that_raises_is_logged_and_other_calls_continue(echo, pb2, caplog):
    def broken(_):
        raise KeyError("mine")

    reached = threading.Event()
    call = echo.Say.future(pb2.Text(count=1))
    call.add_done_callback(broken)
    call.add_done_callback(lambda _: reached.set())
    assert call.result(30).count == 1 and reached.wait(30)
    call.add_done_callback(broken)  # at once
    lines = [record.getMessage() for record in caplog.records if record.name == "coracle"]
    assert lines == ["the callback of /languages.test.Echo/Say threw KeyError: 'mine'"] * 2
    # The thread of the module, which has called it, takes the next completions.
    later = echo.Say.future(pb2.Text(count=2))
    ended = threading.Event()
    later.add_done_callback(lambda _: ended.set())
    assert ended.wait(30) and later.result().count == 2


def test_streams_of_replies(echo, pb2):
    assert [one.count for one in echo.Repeat(pb2.Text(count=500))] == list(range(500))
    replies = echo.Repeat(pb2.Text(text="fail", count=2))
    assert next(replies).count == 0 and next(replies).count == 1
    with pytest.raises(coracle.RpcError) as caught:
        next(replies)
    assert caught.value.code() is coracle.StatusCode.ABORTED
    assert replies.code() is coracle.StatusCode.ABORTED


def test_streams_of_requests(echo, pb2):
    reply = echo.Collect(pb2.Text(text=str(i % 10)) for i in range(500))
    assert reply.count == 500 and reply.text.startswith("0123")


def test_streams_both_ways(echo, pb2):
    assert [one.count for one in echo.Chat(pb2.Text(count=i) for i in range(300))] == list(range(300))


def test_an_error_of_the_requests_reaches_the_reader(echo, pb2):
    def broken():
        yield pb2.Text(count=1)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        list(echo.Chat(broken()))


def test_a_stream_that_is_dropped_is_cancelled(echo, pb2):
    replies = echo.Repeat(pb2.Text(count=100_000))
    assert next(replies).count == 0
    del replies
    assert echo.Say(pb2.Text(count=7)).count == 7


def test_two_threads_that_read_one_stream_are_a_usage_error(echo, pb2):
    waits = threading.Event()

    def requests():
        yield pb2.Text(count=1)
        waits.wait(30)

    replies = echo.Chat(requests())
    assert next(replies).count == 1
    reader = threading.Thread(target=lambda: list(replies))
    reader.start()
    while not replies._reading.locked():
        pass
    with pytest.raises(coracle.UsageError, match="the call of /languages.test.Echo/Chat has two concurrent reads"):
        next(replies)
    waits.set()
    reader.join()
    assert replies.code() is coracle.StatusCode.OK
    assert list(replies) == []  # a call that has ended


def test_misuse_is_a_usage_error(channel, target, pb2):
    with pytest.raises(coracle.UsageError, match="keepalive.time"):
        coracle.Channel(target, coracle.insecure(), {"no.such.option": 1})
    with pytest.raises(coracle.UsageError, match="grpc-timeout"):
        channel.unary_unary("/a/b")(b"", metadata=(("grpc-timeout", "1S"),))
    closed = coracle.Channel(target, coracle.insecure(), {"keepalive.time": datetime.timedelta(seconds=30), "retries": False})
    closed.close()
    closed.close()
    with pytest.raises(coracle.UsageError, match="CORACLE_INVALID_HANDLE"):
        closed.unary_unary("/a/b")(b"")


def test_tls_with_an_own_authority_and_a_client_certificate(secure_target, certificates, pb2):
    mine = {"ca_file": str(certificates / "ca.pem")}
    pair = {"certificate_file": str(certificates / "client.pem"), "key_file": str(certificates / "client.key")}
    service = pb2.DESCRIPTOR.services_by_name["Echo"]
    with coracle.Channel(secure_target, coracle.tls(**mine, **pair)) as trusted:
        assert coracle.stub(trusted, service).Say(pb2.Text(text="x"), timeout=30).text == "x"
    with coracle.Channel(secure_target, coracle.tls(**mine)) as without:
        with pytest.raises(coracle.RpcError) as caught:
            coracle.stub(without, service).Say(pb2.Text(), timeout=30)
        assert caught.value.code() is coracle.StatusCode.UNAVAILABLE


def test_a_forked_child_is_refused(echo, pb2):
    echo.Say(pb2.Text())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            echo.Say(pb2.Text())
            os.write(writer, b"it worked")
        except coracle.UsageError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        assert "CORACLE_FORKED" in pipe.read()
    os.waitpid(child, 0)
    assert echo.Say(pb2.Text(count=1)).count == 1
