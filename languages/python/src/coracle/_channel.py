"""Channels for threads: calls that block, futures, and iterators of messages."""

from __future__ import annotations

import collections
import logging
import threading
import time
from typing import Any, Callable, Deque, Iterable, Iterator, List, Optional, Tuple

from . import _native
from ._base import BaseChannel, Method
from ._errors import Metadata, Outcome, RpcError, StatusCode, UsageError
from ._options import KIND_READ, NO_LIMIT, WAIT_FOR_READY, WRITE_LAST, Deserializer, Serializer, timeout_ns

# Messages of a stream that are read ahead, and written without waiting for flow control.
WINDOW = 64


class Call:
    """What is known of a call that has ended."""

    def __init__(self, outcome: Outcome) -> None:
        self._status, _, rest = outcome
        self._text, self._details, self._initial, self._trailing = rest if rest is not None else ("", b"", (), ())

    def code(self) -> StatusCode:
        """The status code."""
        return StatusCode(self._status)

    def details(self) -> str:
        """The text of the status."""
        return self._text

    def initial_metadata(self) -> Metadata:
        """What the server sent before its replies."""
        return self._initial

    def trailing_metadata(self) -> Metadata:
        """What the server sent with the status."""
        return self._trailing


def _reply(outcome: Outcome, deserializer: Deserializer) -> Any:
    status, message, rest = outcome
    if status or message is None:
        raise RpcError(status, rest)
    return deserializer(message)


class _Completions:
    """The queue of all futures. A thread that waits for one of them takes what has completed, for the others, too."""

    def __init__(self) -> None:
        self.queue: int = _native.queue_create(False)[0]
        self._taking = threading.Lock()
        self._thread: Optional[threading.Thread] = None

    def take(self, wait_ns: int) -> None:
        for future, _, outcome in _native.queue_take(self.queue, wait_ns):
            future._finish(outcome)

    def wait(self, future: "Future", timeout: Optional[float]) -> bool:
        limit = NO_LIMIT if timeout is None else timeout_ns(timeout)
        # Locks of Python wait a shorter time than calls may.
        end = None if limit == NO_LIMIT or limit / 1e9 > threading.TIMEOUT_MAX else time.monotonic() + limit / 1e9
        while future._outcome is None:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            if not self._taking.acquire(timeout=-1 if left is None else left):
                return False
            try:
                if future._outcome is None:
                    # Another future's end makes this one look again.
                    self.take(NO_LIMIT if left is None else int(left * 1e9))
            finally:
                self._taking.release()
        return True

    def take_always(self) -> None:
        """For callbacks of futures that no thread waits for."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="coracle-futures", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._taking:
                self.take(100_000_000)


_completions: Optional[_Completions] = None
_making = threading.Lock()
_calling_back = threading.Lock()  # between the end of a future and a callback that is added


def _shared_completions() -> _Completions:
    global _completions
    if _completions is None:
        with _making:
            if _completions is None:
                _completions = _Completions()
    return _completions


class Future:
    """A unary call in progress."""

    __slots__ = ("_outcome", "_path", "_deserializer", "_call", "_callbacks", "_from")

    def __init__(self, source: _Completions, path: str, deserializer: Deserializer) -> None:
        self._outcome: Optional[Outcome] = None
        self._path = path
        self._deserializer = deserializer
        self._call = 0
        self._callbacks: Optional[List[Callable[["Future"], None]]] = None
        self._from = source

    def _finish(self, outcome: Outcome) -> None:
        with _calling_back:
            self._outcome = outcome
            callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            self._call_back(callback)

    def _call_back(self, callback: Callable[["Future"], None]) -> None:
        """An exception is logged: what else completed, and the thread that takes it, must not suffer."""
        try:
            callback(self)
        except Exception as error:
            logging.getLogger("coracle").exception("the callback of %s threw %s: %s", self._path, type(error).__name__, error)

    def __del__(self) -> None:
        if self._call:
            _native.call_release(self._call)

    def done(self) -> bool:
        """Whether the call has ended."""
        if self._outcome is None and self._from._taking.acquire(blocking=False):
            try:
                self._from.take(0)
            finally:
                self._from._taking.release()
        return self._outcome is not None

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the reply. Raises RpcError, and TimeoutError if it is not there in time; the call continues then."""
        if self._outcome is None and not self._from.wait(self, timeout):
            raise TimeoutError
        return _reply(self._outcome, self._deserializer)  # type: ignore[arg-type]

    def exception(self, timeout: Optional[float] = None) -> Optional[RpcError]:
        """Waits, and returns the error of the call, or None."""
        if self._outcome is None and not self._from.wait(self, timeout):
            raise TimeoutError
        status, _, rest = self._outcome  # type: ignore[misc]
        return RpcError(status, rest) if status else None

    def cancel(self) -> None:
        """Ends the call with CANCELLED, unless it has ended."""
        _native.call_cancel(self._call)

    def add_done_callback(self, callback: Callable[["Future"], None]) -> None:
        """Calls `callback(future)` when the call has ended, on a thread of this module, or at once if it has. An exception of it is
        logged by the logger "coracle"."""
        with _calling_back:
            if self._outcome is None:
                self._callbacks = [*(self._callbacks or ()), callback]
                self._from.take_always()
                return
        self._call_back(callback)


class UnaryUnary(Method):
    """A method with one request and one reply."""

    __slots__ = ()

    def __call__(self, request: Any, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> Any:
        """Returns the reply. `timeout` is in seconds and covers queueing. Raises RpcError."""
        return _reply(_native.unary_wait(self._channel._handle, self._path, timeout_ns(timeout), metadata,
                                         WAIT_FOR_READY if wait_for_ready else 0, self._serializer(request)),
                      self._deserializer)

    def with_call(self, request: Any, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                  wait_for_ready: Optional[bool] = None) -> Tuple[Any, Call]:
        """Returns the reply, and the metadata that came with it."""
        outcome = _native.unary_wait(self._channel._handle, self._path, timeout_ns(timeout), metadata,
                                     WAIT_FOR_READY if wait_for_ready else 0, self._serializer(request))
        return _reply(outcome, self._deserializer), Call(outcome)

    def future(self, request: Any, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
               wait_for_ready: Optional[bool] = None) -> Future:
        """Starts the call and returns at once."""
        source = _shared_completions()
        made = Future(source, self._path, self._deserializer)
        made._call = _native.unary(self._channel._handle, self._path, timeout_ns(timeout), metadata,
                                   WAIT_FOR_READY if wait_for_ready else 0, self._serializer(request), source.queue, made)
        return made


class _Stream:
    """A call with streams. Iterating reads its messages and raises RpcError if the call ends with another status than OK. One thread
    reads at a time."""

    def __init__(self, call: int, path: str, deserializer: Deserializer) -> None:
        self._call = call
        self._path = path
        self._reading = threading.Lock()
        self._deserializer = deserializer
        self._queue, _ = _native.queue_create(False)
        self._ready: Deque[bytes] = collections.deque()
        self._asked = 0
        self._end: Optional[Outcome] = None
        self._writer: Optional[threading.Thread] = None
        self._write_error: Optional[BaseException] = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def _take(self) -> None:
        if self._asked <= WINDOW // 2:
            _native.read(self._call, WINDOW - self._asked, self._queue, 0)
            self._asked = WINDOW
        self._take_events()

    def _take_events(self) -> None:
        for _, kind, outcome in _native.queue_take(self._queue, NO_LIMIT):
            if kind == KIND_READ and outcome[1] is not None:
                self._asked -= 1
                self._ready.append(outcome[1])
            elif self._end is None:
                self._end = outcome

    def _begin_read(self) -> None:
        if not self._reading.acquire(blocking=False):
            raise UsageError(f"the call of {self._path} has two concurrent reads: let one thread read and pass the messages on")

    def __next__(self) -> Any:
        self._begin_read()
        try:
            while not self._ready and self._end is None:
                self._take()
            message = self._ready.popleft() if self._ready else None
        finally:
            self._reading.release()
        if message is not None:
            return self._deserializer(message)
        status, _, rest = self._end  # type: ignore[misc]
        if self._write_error is not None:
            raise self._write_error
        if status:
            raise RpcError(status, rest)
        raise StopIteration

    def _write_all(self, requests: Iterable[Any], serializer: Serializer) -> None:
        try:
            for i, request in enumerate(requests, 1):
                message = serializer(request)
                if i % WINDOW:
                    _native.write(self._call, message, 0, 0, 0)
                elif _native.write_wait(self._call, message, 0)[0]:
                    return  # the call has ended; reading tells why
            _native.writes_done(self._call)
        except _native.UsageError:
            pass  # the handle was released: no thread reads any more
        except BaseException as error:  # of the caller's iterator
            self._write_error = error
            _native.call_cancel(self._call)

    def _write_in_thread(self, requests: Iterable[Any], serializer: Serializer) -> None:
        self._writer = threading.Thread(target=self._write_all, args=(requests, serializer), daemon=True)
        self._writer.start()

    def _ended(self) -> Call:
        self._begin_read()
        try:
            while self._end is None:
                self._take()
                self._ready.clear()
        finally:
            self._reading.release()
        return Call(self._end)

    def code(self) -> StatusCode:
        """The status code; waits for the end of the call, and drops messages that were not read."""
        return self._ended().code()

    def details(self) -> str:
        """The text of the status; waits as code() does."""
        return self._ended().details()

    def trailing_metadata(self) -> Metadata:
        """What the server sent with the status; waits as code() does."""
        return self._ended().trailing_metadata()

    def cancel(self) -> None:
        """Ends the call with CANCELLED, unless it has ended."""
        _native.call_cancel(self._call)

    def __del__(self) -> None:
        call, self._call = self._call, 0
        if not call:
            return
        try:
            _native.call_release(call)
            while self._asked and self._end is None:
                self._take_events()
            _native.queue_destroy(self._queue)
        except _native.UsageError:
            pass  # the library has ended before this object


class UnaryStream(Method):
    """A method with one request and many replies."""

    __slots__ = ()

    def __call__(self, request: Any, timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> _Stream:
        """Returns an iterator of the replies."""
        made = _Stream(self._begin_stream(timeout, metadata, wait_for_ready), self._path, self._deserializer)
        _native.write(made._call, self._serializer(request), WRITE_LAST, 0, 0)
        return made


class StreamUnary(Method):
    """A method with many requests and one reply."""

    __slots__ = ()

    def with_call(self, requests: Iterable[Any], timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                  wait_for_ready: Optional[bool] = None) -> Tuple[Any, Call]:
        """Sends the requests, and returns the reply and what came with it."""
        made = _Stream(self._begin_stream(timeout, metadata, wait_for_ready), self._path, self._deserializer)
        made._write_all(requests, self._serializer)
        replies = list(made)
        if len(replies) != 1:
            raise RpcError(StatusCode.INTERNAL, (f"{len(replies)} replies came, where one belongs", b"", (), ()))
        return replies[0], made._ended()

    def __call__(self, requests: Iterable[Any], timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> Any:
        """Sends the requests of an iterable, and returns the reply."""
        return self.with_call(requests, timeout, metadata, wait_for_ready)[0]


class StreamStream(Method):
    """A method with many requests and many replies."""

    __slots__ = ()

    def __call__(self, requests: Iterable[Any], timeout: Optional[float] = None, metadata: Optional[Metadata] = None,
                 wait_for_ready: Optional[bool] = None) -> _Stream:
        """Returns an iterator of the replies; a thread sends the requests meanwhile."""
        made = _Stream(self._begin_stream(timeout, metadata, wait_for_ready), self._path, self._deserializer)
        made._write_in_thread(requests, self._serializer)
        return made


class Channel(BaseChannel[UnaryUnary, UnaryStream, StreamUnary, StreamStream]):
    """Connects to the servers of a target. May be used by any number of threads. Stubs that grpcio's plugin generates take it, too."""

    _one_to_one = UnaryUnary
    _one_to_many = UnaryStream
    _many_to_one = StreamUnary
    _many_to_many = StreamStream

    def close(self) -> None:
        """Ends the calls in progress with UNAVAILABLE. Later calls raise UsageError."""
        self._close()

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
