"""Channels and servers for asyncio. The event loop watches one descriptor, and takes completions in batches."""

from __future__ import annotations

import asyncio
import collections.abc
from typing import Any, AsyncIterable, AsyncIterator, Deque, Generator, Iterable, Optional, Union

from . import _completions, _native
from ._base import BaseChannel, Method
from ._channel import WINDOW, Call, _reply
from ._errors import Metadata, Outcome, RpcError, StatusCode, UsageError
from ._options import KIND_READ, WAIT_FOR_READY, WRITE_LAST, Deserializer, Serializer, timeout_ns
from ._server import AbortError, Context, HandlerCallDetails, MethodHandler, Server

Requests = Union[Iterable[Any], AsyncIterable[Any]]


class UnaryCall:
    """A unary call in progress, to be awaited."""

    __slots__ = ("_future", "_call", "_deserializer")

    def __init__(self, future: "asyncio.Future[Outcome]", call: int, deserializer: Deserializer) -> None:
        self._future = future
        self._call = call
        self._deserializer = deserializer

    def __await__(self) -> Generator[Any, None, Any]:
        """Returns the reply, or raises RpcError. Cancelling the task cancels the call."""
        try:
            outcome = yield from self._future.__await__()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return _reply(outcome, self._deserializer)

    def cancel(self) -> None:
        """Ends the call with CANCELLED, unless it has ended."""
        _native.call_cancel(self._call)

    async def ended(self) -> Call:
        """Waits for the end of the call, and returns its status and metadata."""
        return Call(await asyncio.shield(self._future))

    def __del__(self) -> None:
        try:
            if not self._future.done():
                _native.call_cancel(self._call)  # nothing can await it any more
            _native.call_release(self._call)
        except _native.UsageError:
            pass  # in a forked child


class Stream:
    """A call with streams: iterate over it with `async for`, and write() to it. In the event loop that started it, one task may read
    while another one writes."""

    def __init__(self, call: int, path: str, serializer: Serializer, deserializer: Deserializer) -> None:
        self._call = call
        self._path = path
        self._serializer = serializer
        self._deserializer = deserializer
        self._from = _completions.of_running_loop()
        self._tag = self._from.add(self)
        self._ready: Deque[bytes] = collections.deque()
        self._asked = 0
        self._unwritten = 0
        self._end: Optional[Outcome] = None
        self._reading: Optional[asyncio.Future[None]] = None
        self._writing: Optional[asyncio.Future[None]] = None
        self._pump: Optional[asyncio.Task[None]] = None

    def _on_event(self, kind: int, outcome: Outcome) -> None:
        if kind == KIND_READ:
            if outcome[1] is not None:
                self._asked -= 1
                self._ready.append(outcome[1])
            else:
                self._asked = 0
                if self._end is None:
                    self._end = outcome
            waiter = self._reading
        else:
            self._unwritten -= 1
            waiter = self._writing
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        self._forget()

    def _forget(self) -> None:
        """Once nothing more can come, the loop need not know this stream."""
        if self._end is not None and not self._unwritten and not self._asked:
            self._from.remove(self._tag)

    def _begin_wait(self, pending: "Optional[asyncio.Future[None]]", misuse: str) -> "asyncio.Future[None]":
        if asyncio.get_running_loop() is not self._from.loop:
            raise UsageError(f"the call of {self._path} was started in another event loop: use it there")
        if pending is not None and not pending.done():
            raise UsageError(f"the call of {self._path} {misuse}")
        return self._from.loop.create_future()

    async def write(self, request: Any) -> None:
        """Sends a message. Waits while flow control holds many back. Raises RpcError if the call has ended."""
        while self._unwritten >= WINDOW and self._end is None:
            self._writing = self._begin_wait(self._writing, "has two concurrent writes: await one write before the next")
            await self._writing
        if self._end is not None:
            status, _, rest = self._end
            if status:
                raise RpcError(status, rest)
            text = f"the call of {self._path} takes no message any more: it has ended, or its last message was written"
            raise RpcError(StatusCode.CANCELLED, (text, b"", (), ()))
        _native.write(self._call, self._serializer(request), 0, self._from.queue, self._tag)
        self._unwritten += 1

    async def done_writing(self) -> None:
        """Ends the requests."""
        _native.writes_done(self._call)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        while not self._ready and self._end is None:
            if self._asked <= WINDOW // 2:
                _native.read(self._call, WINDOW - self._asked, self._from.queue, self._tag)
                self._asked = WINDOW
            self._reading = self._begin_wait(self._reading,
                                             "has two concurrent reads: let one task read and pass the messages on")
            await self._reading
        if self._ready:
            return self._deserializer(self._ready.popleft())
        status, _, rest = self._end  # type: ignore[misc]
        if self._pump is not None and self._pump.done() and not self._pump.cancelled() and self._pump.exception():
            raise self._pump.exception()  # type: ignore[misc]
        if status:
            raise RpcError(status, rest)
        raise StopAsyncIteration

    async def read(self) -> Optional[Any]:
        """The next message, or None at the end of a call that ended with OK. Raises RpcError."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            return None

    async def ended(self) -> Call:
        """Waits for the end of the call, drops messages that were not read, and returns its status and metadata."""
        while self._end is None:
            try:
                await self.__anext__()
            except (RpcError, StopAsyncIteration):
                pass
        return Call(self._end)

    def cancel(self) -> None:
        """Ends the call with CANCELLED, unless it has ended."""
        _native.call_cancel(self._call)

    def _write_all(self, requests: Requests) -> None:
        self._pump = self._from.loop.create_task(self._pump_requests(requests))

    async def _pump_requests(self, requests: Requests) -> None:
        try:
            if isinstance(requests, collections.abc.AsyncIterable):
                async for request in requests:
                    await self.write(request)
            else:
                for request in requests:
                    await self.write(request)
            await self.done_writing()
        except (RpcError, _native.UsageError):
            pass  # the call has ended; reading tells why
        except BaseException:
            self.cancel()
            raise

    def close(self) -> None:
        """Cancels the call, unless it has ended. The end of this object does the same."""
        call, self._call = self._call, 0
        if call:
            try:
                _native.call_release(call)
            except _native.UsageError:
                pass  # in a forked child

    def __del__(self) -> None:
        self.close()


class UnaryUnary(Method):
    """A method with one request and one reply."""

    __slots__ = ()

    def __call__(self, request: Any, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> UnaryCall:
        """Starts the call: `reply = await method(request)`. `timeout` is in seconds and covers queueing."""
        completions = _completions.of_running_loop()
        future = completions.loop.create_future()
        call = _native.unary(self._channel._handle, self._path, timeout_ns(timeout), metadata,
                             WAIT_FOR_READY if wait_for_ready else 0, self._serializer(request), completions.queue, future)
        return UnaryCall(future, call, self._deserializer)


class UnaryStream(Method):
    """A method with one request and many replies."""

    __slots__ = ()

    def __call__(self, request: Any, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> Stream:
        """Starts the call; iterate over it."""
        made = Stream(self._begin_stream(timeout, metadata, wait_for_ready), self._path, self._serializer, self._deserializer)
        _native.write(made._call, self._serializer(request), WRITE_LAST, 0, 0)
        return made


class StreamUnary(Method):
    """A method with many requests and one reply."""

    __slots__ = ()

    async def __call__(self, requests: Requests, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                       wait_for_ready: Optional[bool] = None) -> Any:
        """Sends the requests of an iterable, synchronous or not, and returns the reply."""
        made = Stream(self._begin_stream(timeout, metadata, wait_for_ready), self._path, self._serializer, self._deserializer)
        made._write_all(requests)
        replies = [reply async for reply in made]
        if len(replies) != 1:
            raise RpcError(StatusCode.INTERNAL, (f"{len(replies)} replies came, where one belongs", b"", (), ()))
        return replies[0]


class StreamStream(Method):
    """A method with many requests and many replies."""

    __slots__ = ()

    def __call__(self, requests: Optional[Requests] = None, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> Stream:
        """Starts the call; a task sends the requests, if there are any. Otherwise write() does."""
        made = Stream(self._begin_stream(timeout, metadata, wait_for_ready), self._path, self._serializer, self._deserializer)
        if requests is not None:
            made._write_all(requests)
        return made


class Channel(BaseChannel[UnaryUnary, UnaryStream, StreamUnary, StreamStream]):
    """Connects to the servers of a target. For any number of event loops. Stubs that grpcio's plugin generates take it, too."""

    _one_to_one = UnaryUnary
    _one_to_many = UnaryStream
    _many_to_one = StreamUnary
    _many_to_many = StreamStream

    async def close(self) -> None:
        """Ends the calls in progress with UNAVAILABLE. Later calls raise UsageError."""
        self._close()

    async def __aenter__(self) -> "Channel":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()


__all__ = ["AbortError", "Channel", "Context", "HandlerCallDetails", "MethodHandler", "Server", "Stream", "StreamStream", "StreamUnary",
           "UnaryCall", "UnaryStream", "UnaryUnary"]
