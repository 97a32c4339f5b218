"""How completions reach the event loops of asyncio: a queue for each, whose descriptor the loop watches."""

from __future__ import annotations

import asyncio
import threading
import weakref
from typing import Any, Callable, Dict, List, Protocol, Set

from . import _native
from ._errors import Outcome, UsageError
from ._options import KIND_REQUEST, KIND_UNARY

BATCH = 128  # events that the native module takes at once
BATCHES = 8  # before the event loop runs what they have made ready


class Waiter(Protocol):
    """What has operations in progress."""

    def _on_event(self, kind: int, outcome: Outcome) -> None: ...


class Completions:
    """The queue of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.queue: int
        self.queue, descriptor = _native.queue_create(True)
        self._waiters: "weakref.WeakValueDictionary[int, Waiter]" = weakref.WeakValueDictionary()  # a dropped one ends
        self._methods: Dict[int, Callable[[int, Any], None]] = {}
        self._next_tag = 0
        self._loop = weakref.ref(loop)
        # The servers whose calls complete here, which end with the loop.
        self.servers: Set[int] = set()
        loop.add_reader(descriptor, self._take)
        weakref.finalize(loop, _retire, self.queue, self.servers).atexit = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop, which keeps this object, not the reverse."""
        loop = self._loop()
        if loop is None:
            raise UsageError("the event loop of the call has ended")
        return loop

    def _take(self) -> None:
        for _ in range(BATCHES):
            taken = _native.queue_take(self.queue, 0)
            for waiter, kind, outcome in taken:
                if kind == KIND_UNARY:
                    if not waiter.done():
                        waiter.set_result(outcome)
                    continue
                method = self._methods.get(waiter)
                if method is not None:
                    method(kind, outcome)
                    continue
                other = self._waiters.get(waiter)
                if other is not None:
                    other._on_event(kind, outcome)
            if len(taken) < BATCH:
                return

    def add(self, waiter: Waiter) -> int:
        """The tag of a new waiter, which the queue does not keep."""
        self._next_tag += 1
        self._waiters[self._next_tag] = waiter
        return self._next_tag

    def remove(self, tag: int) -> None:
        """Forgets a waiter."""
        self._waiters.pop(tag, None)

    def add_method(self, on_event: Callable[[int, Any], None]) -> int:
        """The tag of a server's method, which the queue keeps. `on_event` must not raise."""
        self._next_tag += 1
        self._methods[self._next_tag] = on_event
        return self._next_tag

    def remove_method(self, tag: int) -> None:
        """Forgets a method."""
        self._methods.pop(tag, None)


_by_loop: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Completions]" = weakref.WeakKeyDictionary()
_changing = threading.RLock()  # a loop may be collected, and its queue retired, at any allocation
_retired: List[int] = []  # the queues of loops that have ended, in which calls have yet to end


def _retire(queue: int, servers: Set[int]) -> None:
    with _changing:
        while servers:
            try:
                _native.server_destroy(servers.pop())
            except UsageError:
                pass  # it has ended with the library
        _retired.append(queue)
        _destroy_retired()


def _destroy_retired() -> None:
    queues = _retired[:]
    _retired.clear()
    for queue in queues:
        try:
            while taken := _native.queue_take(queue, 0):
                for _, kind, outcome in taken:
                    if kind == KIND_REQUEST:
                        _native.call_release(outcome[0])  # of a server that has ended
            _native.queue_destroy(queue)
        except _native.UsageError as error:
            if "CORACLE_BUSY" in str(error):
                _retired.append(queue)  # otherwise it has ended with the library


def of_running_loop() -> Completions:
    """The queue of the event loop that runs on this thread."""
    loop = asyncio.get_running_loop()
    found = _by_loop.get(loop)
    if found is None:
        with _changing:
            # A closed loop that is still referred to needs its queue no more.
            for closed in [other for other in list(_by_loop) if other.is_closed()]:
                ended = _by_loop.pop(closed)
                _retire(ended.queue, ended.servers)
            _destroy_retired()
            found = _by_loop[loop] = Completions(loop)
    return found
