"""A server for asyncio: the library reads, writes and enforces limits on its own thread, and handlers run as tasks of the event loop."""

from __future__ import annotations

import asyncio
import collections
import functools
import logging
import math
from typing import (Any, AsyncIterator, Awaitable, Callable, Deque, Dict, Iterable, List, Mapping, NamedTuple, NoReturn, Optional, Sequence,
                    Set, Tuple)

from . import _completions, _native
from ._errors import Metadata, Outcome, RpcError, StatusCode, UsageError
from ._options import (KIND_DRAINED, KIND_READ, KIND_REQUEST, NO_LIMIT, WRITE_UNCOMPRESSED, Deserializer, Option, Serializer,
                       ServerCredentials, as_bytes, option_texts)

# Messages of a call that are read ahead, and that are written without waiting for flow control: a slow side keeps little in memory.
WINDOW = 16
WINDOW_BYTES = 1 << 18
# Calls at once, unless the option limits.calls says otherwise; each costs a task.
CALLS_MAX = 10_000
# Of the text of an exception that a client gets.
TEXT_MAX = 1_000

Handler = Callable[[Any, "Context"], Any]
# (call, request or None, path, peer, metadata, the time that is left in ns)
_Request = Tuple[int, Optional[bytes], str, str, Metadata, int]
# A coracle.StatusCode, its number, or a grpc.StatusCode.
Code = Any

_log = logging.getLogger("coracle")


_KEYS_OF_GRPCIO = {"type": "transport_security_type", "common_name": "x509_common_name", "certificates": "x509_pem_cert",
                   **dict.fromkeys(("dns_name", "ip_address", "uri", "email"), "x509_subject_alternative_name")}


class AbortError(Exception):
    """Raised by Context.abort(): ends the handler."""


class _RequestsFailed(RpcError):
    """Raised by a read when no request can come any more: the call ends with the same status."""


def _status_of(code: Code) -> int:
    value = getattr(code, "value", code)  # those of grpcio are pairs of a number and a name
    number = value[0] if isinstance(value, tuple) else value
    if not isinstance(number, int) or not 0 <= number <= 16:
        raise UsageError(f"{code!r} is no status code: pass a coracle.StatusCode")
    return number


def _text_of(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # of its __str__
        text = type(error).__name__
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "..."


class HandlerCallDetails:
    """What interceptors and generic handlers know of a call."""

    __slots__ = ("method", "invocation_metadata")

    def __init__(self, method: str, invocation_metadata: Metadata) -> None:
        self.method: str = method
        self.invocation_metadata: Metadata = invocation_metadata


class MethodHandler(NamedTuple):
    """How a method is handled, with the names of grpc.RpcMethodHandler, which is accepted as well. Interceptors return one, such as
    `handler._replace(unary_unary=mine)`."""

    request_streaming: bool
    response_streaming: bool
    request_deserializer: Optional[Deserializer] = None
    response_serializer: Optional[Serializer] = None
    unary_unary: Optional[Handler] = None
    unary_stream: Optional[Handler] = None
    stream_unary: Optional[Handler] = None
    stream_stream: Optional[Handler] = None


class _Method:
    """A method of a service: its handler, and how its messages become bytes."""

    __slots__ = ("path", "origin", "handler", "streams_requests", "streams_replies", "deserializer", "serializer")

    def __init__(self, path: str, origin: Any) -> None:
        """`origin`: a MethodHandler, or a grpc.RpcMethodHandler."""
        self.path: str = path
        self.origin: Any = origin
        self.streams_requests: bool = bool(origin.request_streaming)
        self.streams_replies: bool = bool(origin.response_streaming)
        self.handler: Handler = getattr(origin, _kind(self.streams_requests, self.streams_replies))
        self.deserializer: Deserializer = origin.request_deserializer or as_bytes
        self.serializer: Serializer = origin.response_serializer or as_bytes

    @property
    def is_unary(self) -> bool:
        return not self.streams_requests and not self.streams_replies


def _kind(streams_requests: bool, streams_replies: bool) -> str:
    return f"{'stream' if streams_requests else 'unary'}_{'stream' if streams_replies else 'unary'}"


class Context:
    """A call, as its handler sees it. Used in the event loop of the server."""

    __slots__ = ("_server", "_method", "_call", "_request", "_path", "_peer", "_metadata", "_end_at", "_from", "_tag", "_task", "_code",
                 "_text", "_details", "_trailing", "_callbacks", "_ended", "_ready", "_asked", "_requests_end", "_reading", "_writing",
                 "_unwritten", "_unwritten_bytes", "_write_flags", "__weakref__")

    def __init__(self, server: "Server", method: _Method, request: _Request, completions: _completions.Completions) -> None:
        self._server = server
        self._method = method
        self._call, self._request, self._path, self._peer, self._metadata, left_ns = request
        self._from = completions
        self._end_at = None if left_ns == NO_LIMIT else completions.loop.time() + left_ns / 1e9
        self._tag = 0
        self._task: Optional[asyncio.Task[None]] = None
        self._code: Optional[int] = None
        self._text = ""
        self._details = b""
        self._trailing: Metadata = ()
        self._callbacks: Optional[List[Callable[["Context"], Any]]] = None
        self._ended = False
        self._ready: Optional[Deque[bytes]] = None
        self._asked = 0
        self._requests_end: Optional[Outcome] = None
        self._reading: Optional[asyncio.Future[None]] = None
        self._writing: Optional[asyncio.Future[None]] = None
        self._unwritten: Optional[Deque[int]] = None
        self._unwritten_bytes = 0
        self._write_flags = 0

    # --- what the handler asks

    def invocation_metadata(self) -> Metadata:
        """The client's metadata."""
        return self._metadata

    def peer(self) -> str:
        """The client's address."""
        return self._peer

    def method(self) -> str:
        """The path of the method: "/package.Service/Method"."""
        return self._path

    def security(self) -> Sequence[Tuple[str, bytes]]:
        """The security of the client's connection, and the names in its certificate, if that was verified: pairs of the keys "type",
        "protocol", "cipher", "dns_name", "ip_address", "uri", "email", "common_name" and "certificates" (PEM). Empty in plaintext, and
        after the end of the call."""
        return _native.call_security(self._call) if self._call else ()

    def auth_context(self) -> Mapping[str, List[bytes]]:
        """The same with the keys of grpcio: "x509_common_name", "x509_subject_alternative_name", "x509_pem_cert" and
        "transport_security_type"."""
        found: Dict[str, List[bytes]] = {}
        for key, value in self.security():
            name = _KEYS_OF_GRPCIO.get(key)
            if name == "transport_security_type":
                found[name] = [b"ssl"]
            elif name is not None:
                found.setdefault(name, []).append(value)
        return found

    def peer_identity_key(self) -> Optional[str]:
        """The key of auth_context() that peer_identities() has the values of; None if the client has no verified certificate."""
        known = self.auth_context()
        return next((key for key in ("x509_subject_alternative_name", "x509_common_name") if key in known), None)

    def peer_identities(self) -> Optional[List[bytes]]:
        """The names in the verified certificate of the client: the alternative ones, or else the common one; None without one."""
        key = self.peer_identity_key()
        return None if key is None else self.auth_context()[key]

    def time_remaining(self) -> Optional[float]:
        """The seconds until the deadline of the call; None if it has none."""
        return None if self._end_at is None else max(0.0, self._end_at - self._from.loop.time())

    def cancelled(self) -> bool:
        """Whether the call has ended without an answer: its client cancelled it or went away, its deadline passed, or the server
        stopped. The task of the handler is then cancelled."""
        return self._ended

    def done(self) -> bool:
        """Whether the call has ended."""
        return self._ended or not self._call

    def add_done_callback(self, callback: Callable[["Context"], Any]) -> None:
        """Calls `callback(context)` when the call has been answered, or has ended. An exception of it is logged."""
        if self.done():
            self._call_back(callback)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    # --- how the call ends

    def set_code(self, code: Code) -> None:
        """Sets the status code of the answer."""
        self._code = _status_of(code)

    def set_details(self, details: str) -> None:
        """Sets the text of the status."""
        self._text = details

    def set_trailing_metadata(self, trailing_metadata: Metadata) -> None:
        """Sets the metadata that is sent with the status. The value of a key that ends in "-bin" is bytes. The pair
        "grpc-status-details-bin" becomes the details of the status."""
        pairs = tuple(trailing_metadata)
        for key, value in pairs:
            if key == "grpc-status-details-bin":
                self._details = value if isinstance(value, bytes) else value.encode()
        self._trailing = tuple(pair for pair in pairs if pair[0] != "grpc-status-details-bin")

    def code(self) -> StatusCode:
        """The status code that was set."""
        return StatusCode(self._code or 0)

    def details(self) -> str:
        """The text that was set."""
        return self._text

    def trailing_metadata(self) -> Metadata:
        """The metadata that was set."""
        return self._trailing

    async def abort(self, code: Code, details: str = "", trailing_metadata: Metadata = ()) -> NoReturn:
        """Ends the call with a status that is not OK, by an exception that the handler lets pass."""
        number = _status_of(code)
        if number == 0:
            raise UsageError("abort() ends a call with an error: OK is none, so return instead")
        self._code, self._text = number, details
        if trailing_metadata:
            self.set_trailing_metadata(trailing_metadata)
        raise AbortError(f"{StatusCode(number).name}: {details}")

    async def abort_with_status(self, status: Any) -> NoReturn:
        """The same with an object that has code, details and trailing_metadata, such as those of grpcio-status."""
        await self.abort(status.code, status.details, status.trailing_metadata or ())

    # --- messages

    async def send_initial_metadata(self, initial_metadata: Metadata) -> None:
        """Sends metadata before the first reply."""
        if self._call:
            _native.send_headers(self._call, tuple(initial_metadata))

    def set_compression(self, compression: Any) -> None:
        """Does nothing: the option `compression` of the server decides, and its default is none."""

    def disable_next_message_compression(self) -> None:
        """The next message that is written is not compressed."""
        self._write_flags = WRITE_UNCOMPRESSED

    async def read(self) -> Optional[Any]:
        """The next request, or None after the last one."""
        if not self._method.streams_requests:
            raise UsageError(f"the call of {self._path} has one request, which the handler was called with")
        try:
            return await self._next()
        except StopAsyncIteration:
            return None

    async def write(self, message: Any) -> None:
        """Sends a reply. Waits while flow control holds many back. Raises RpcError if the call has ended."""
        if not self._method.streams_replies:
            raise UsageError(f"the call of {self._path} has one reply: return it")
        data = self._method.serializer(message)
        if not self._tag:
            self._tag = self._from.add(self)
        if self._unwritten is None:
            self._unwritten = collections.deque()
        while self._call and self._unwritten and (len(self._unwritten) >= WINDOW or self._unwritten_bytes >= WINDOW_BYTES):
            self._writing = self._begin_wait(self._writing, "has two concurrent writes: await one write before the next")
            await self._writing
        if not self._call:
            raise RpcError(StatusCode.CANCELLED, (f"the call of {self._path} has ended: it takes no reply any more", b"", (), ()))
        flags, self._write_flags = self._write_flags, 0
        try:
            _native.write(self._call, data, flags, self._from.queue, self._tag)
        except UsageError as error:
            raise self._operation_failed(error) from None
        self._unwritten.append(len(data))
        self._unwritten_bytes += len(data)

    async def _next(self) -> Any:
        return self._decoded(await self._next_bytes(WINDOW))

    def _decoded(self, request: bytes) -> Any:
        try:
            return self._method.deserializer(request)
        except Exception as error:
            text = f"a request of {self._path} cannot be decoded: {_text_of(error)}"
            raise _RequestsFailed(StatusCode.INTERNAL, (text, b"", (), ())) from error

    async def _next_bytes(self, window: int) -> bytes:
        if self._ready is None:
            self._ready = collections.deque()
            if not self._tag:
                self._tag = self._from.add(self)
        while not self._ready and self._requests_end is None:
            if not self._call:
                raise UsageError(f"the call of {self._path} has ended: it has no requests any more")
            if self._asked <= window // 2:
                try:
                    _native.read(self._call, window - self._asked, self._from.queue, self._tag)
                except UsageError as error:
                    raise self._operation_failed(error) from None
                self._asked = window
            self._reading = self._begin_wait(self._reading, "has two concurrent reads: let one task read and pass the messages on")
            await self._reading
        if self._ready:
            return self._ready.popleft()
        status, _, rest = self._requests_end  # type: ignore[misc]
        if status:
            raise _RequestsFailed(status, rest)
        raise StopAsyncIteration

    def _operation_failed(self, error: UsageError) -> Exception:
        if "CORACLE_SHUT_DOWN" not in str(error):
            return error
        self._ended = True  # which the event loop is told next
        return RpcError(StatusCode.CANCELLED, (f"the call of {self._path} has ended", b"", (), ()))

    def _begin_wait(self, pending: "Optional[asyncio.Future[None]]", misuse: str) -> "asyncio.Future[None]":
        if asyncio.get_running_loop() is not self._from.loop:
            raise UsageError(f"the call of {self._path} was received in another event loop: use it there")
        if pending is not None and not pending.done():
            raise UsageError(f"the call of {self._path} {misuse}")
        return self._from.loop.create_future()

    def _on_event(self, kind: int, outcome: Outcome) -> None:
        if kind == KIND_READ:
            if outcome[1] is not None:
                self._asked -= 1
                self._ready.append(outcome[1])  # type: ignore[union-attr]
            else:
                self._asked = 0
                if self._requests_end is None:
                    self._requests_end = outcome
            waiter = self._reading
        else:
            self._unwritten_bytes -= self._unwritten.popleft()  # type: ignore[union-attr]
            waiter = self._writing
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    # --- the life of the call

    def _start(self) -> None:
        self._task = self._from.loop.create_task(self._serve())

    def _end(self) -> None:
        """The call has ended before it was answered."""
        self._ended = True
        self._release()
        task = self._task
        if task is not None and not task.done():
            self._server._keep(task)
            task.cancel()
        self._finish_callbacks()

    def _release(self) -> None:
        call, self._call = self._call, 0
        if call:
            try:
                _native.call_release(call)
            except UsageError:
                pass  # in a forked child, or when the library has ended

    def __del__(self) -> None:
        if getattr(self, "_call", 0):
            self._release()

    async def _serve(self) -> None:
        reply: Optional[bytes] = None
        try:
            if self._server._interceptors:
                self._method = await self._server._intercept(self._method, self._metadata)
            method = self._method
            if method.streams_requests:
                request: Any = _Requests(self)
            else:
                request = self._request
                self._request = None  # the handler may take long
                if request is None:
                    request = await self._only_request()
                request = self._decoded(request)
            result = method.handler(request, self)
            if method.streams_replies:
                await self._write_all(result)
            else:
                if hasattr(result, "__await__"):
                    result = await result
                if not self._code:
                    reply = method.serializer(result)
        except AbortError:
            pass
        except _RequestsFailed as error:
            self._code, self._text = int(error.code()), error.details()
        except asyncio.CancelledError:
            if self._call:
                self._answer(StatusCode.CANCELLED, "the handler was cancelled", None)
            raise
        except Exception as error:
            if self._ended:  # which the handler was told by it
                _log.debug("the handler of %s ended with %s", self._path, _text_of(error))
                return
            if not self._code:
                self._code, self._text = StatusCode.UNKNOWN, _text_of(error)
            elif not self._text:
                self._text = _text_of(error)
            if not isinstance(error, NotImplementedError):
                _log.exception("the handler of %s threw %s", self._path, _text_of(error))
        if self._call:
            self._answer(self._code or 0, self._text, reply)

    async def _only_request(self) -> bytes:
        try:
            return await self._next_bytes(1)
        except StopAsyncIteration:
            text = f"a call of {self._path} has one request, and this one has none"
            raise _RequestsFailed(StatusCode.UNIMPLEMENTED, (text, b"", (), ())) from None

    async def _write_all(self, replies: Any) -> None:
        """Of an async generator, or of a coroutine that calls write(), or of an iterable."""
        if hasattr(replies, "__await__"):
            replies = await replies
            if replies is None:
                return
        try:
            if hasattr(replies, "__aiter__"):
                async for reply in replies:
                    await self.write(reply)
            else:
                for reply in replies:
                    await self.write(reply)
        finally:
            close = getattr(replies, "aclose", None)
            if close is not None:
                await close()

    def _answer(self, status: int, text: str, reply: Optional[bytes]) -> None:
        call, self._call = self._call, 0
        self._server._forget(call)
        try:
            _native.answer(call, status, text.encode("utf-8", "replace") if text else b"", self._details, reply, self._trailing)
        except Exception as error:
            # Metadata that cannot be sent, or a reply that is not bytes.
            _log.error("the answer to a call of %s cannot be sent: %s", self._path, _text_of(error))
            try:
                refusal = f"the server's answer cannot be sent: {_text_of(error)}"
                _native.answer(call, StatusCode.INTERNAL, refusal.encode("utf-8", "replace"), b"", None, ())
            except UsageError:
                self._call = call
                self._release()
        self._finish_callbacks()

    def _call_back(self, callback: Callable[["Context"], Any]) -> None:
        try:
            callback(self)
        except Exception as error:
            _log.exception("a callback of a call of %s threw %s", self._path, _text_of(error))

    def _finish_callbacks(self) -> None:
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            self._call_back(callback)


class _Requests:
    """The requests of a call, for `async for`."""

    __slots__ = ("_context",)

    def __init__(self, context: Context) -> None:
        self._context = context

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    def __anext__(self) -> Awaitable[Any]:
        return self._context._next()


class Server:
    """Serves methods on ports, in the event loop that adds the first port. Handlers are called with the request, or an async iterator of
    requests, and the Context of the call; they return the reply, or are async generators of replies, or write them with
    Context.write(). Each runs as a task of the event loop; one that is a plain function runs there, too, and must not block.

    A server serves until stop(), or until its event loop ends."""

    def __init__(self, options: Optional[Mapping[str, Option]] = None, interceptors: Sequence[Any] = ()) -> None:
        """`options` are those of coracle::server_options by their names: {"max_receive_bytes": 16 << 20, "limits.calls": 500}. More calls
        than limits.calls at once (here 10,000 by default) end with UNAVAILABLE.

        `interceptors` are those of grpc.aio: objects with `async def intercept_service(continuation, details)`, which returns what
        `await continuation(details)` returns, or another handler. The first one is the outermost. They run for methods that exist, in
        the task of the handler."""
        self._interceptors = tuple(interceptors)
        self._options = option_texts({"limits.calls": CALLS_MAX, **(options or {})})
        self._methods: Dict[str, _Method] = {}
        self._generic: List[Any] = []
        self._handle = 0
        self._from: Optional[_completions.Completions] = None
        self._tags: List[int] = []
        self._state = "new"  # started, stopping, stopped
        self._calls: Dict[int, Context] = {}
        self._early: List[Context] = []
        self._leaving: Set["asyncio.Task[None]"] = set()
        self._drain_tag = 0
        self._drained: Optional[asyncio.Future[None]] = None
        self._end_task: Optional[asyncio.Task[None]] = None
        self._stopped = asyncio.Event()

    # --- methods

    def unary_unary(self, method: str, handler: Handler, request_deserializer: Optional[Deserializer] = None,
                    response_serializer: Optional[Serializer] = None) -> None:
        """Adds a method by its path, "/package.Service/Method"; without serializers its messages are bytes."""
        self._add(method, False, False, request_deserializer, response_serializer, handler)

    def unary_stream(self, method: str, handler: Handler, request_deserializer: Optional[Deserializer] = None,
                     response_serializer: Optional[Serializer] = None) -> None:
        """The same with many replies."""
        self._add(method, False, True, request_deserializer, response_serializer, handler)

    def stream_unary(self, method: str, handler: Handler, request_deserializer: Optional[Deserializer] = None,
                     response_serializer: Optional[Serializer] = None) -> None:
        """The same with many requests."""
        self._add(method, True, False, request_deserializer, response_serializer, handler)

    def stream_stream(self, method: str, handler: Handler, request_deserializer: Optional[Deserializer] = None,
                      response_serializer: Optional[Serializer] = None) -> None:
        """The same with many requests and replies."""
        self._add(method, True, True, request_deserializer, response_serializer, handler)

    def add(self, service: Any, implementation: Any) -> None:
        """Adds the methods of `service`, a descriptor such as movies_pb2.DESCRIPTOR.services_by_name["MovieService"], which are the
        methods of the same names of `implementation`. Those that it does not have end with UNIMPLEMENTED. Needs the package protobuf."""
        from google.protobuf import message_factory

        for method in service.methods:
            handler = getattr(implementation, method.name, None)
            if handler is None:
                continue
            request = message_factory.GetMessageClass(method.input_type)
            reply = message_factory.GetMessageClass(method.output_type)
            self._add(f"/{service.full_name}/{method.name}", method.client_streaming, method.server_streaming, request.FromString,
                      reply.SerializeToString, handler)

    def add_registered_method_handlers(self, service_name: str, method_handlers: Mapping[str, Any]) -> None:
        """For the functions add_..._to_server() that grpcio's plugin generates."""
        for name, handler in method_handlers.items():
            path = f"/{service_name}/{name}"
            self._methods[path] = _Method(path, handler)

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Iterable[Any]) -> None:
        """The same; and for objects with `service(details)`, which returns a grpc.RpcMethodHandler, or None for methods that it does not
        have. They are asked, in their order, for each call of a method that was not added otherwise."""
        self._generic.extend(generic_rpc_handlers)

    def _add(self, path: str, streams_requests: bool, streams_replies: bool, deserializer: Optional[Deserializer],
             serializer: Optional[Serializer], handler: Handler) -> None:
        if path in self._methods:
            raise UsageError(f"the method {path} was added twice")
        named: Any = {_kind(streams_requests, streams_replies): handler}
        self._methods[path] = _Method(path, MethodHandler(streams_requests, streams_replies, deserializer, serializer, **named))

    # --- ports

    def add_insecure_port(self, address: str) -> int:
        """Listens in plaintext on "127.0.0.1:50051", "[::]:50051", "localhost:0" or "unix:/path", and returns the port; with port 0 the
        system chooses it. Clients can connect at once; handlers run from start() on. Methods may be added afterwards, but those that were
        added before the first port are served faster. Call it in the event loop that is to serve."""
        return self._listen(address, (("credentials", "insecure"),))

    def add_secure_port(self, address: str, server_credentials: ServerCredentials) -> int:
        """The same with TLS: coracle.server_tls()."""
        if not isinstance(server_credentials, ServerCredentials):
            raise UsageError("add_secure_port() takes coracle.server_tls(...); the credentials of grpcio cannot be read")
        return self._listen(address, server_credentials.options)

    def _listen(self, address: str, options: Tuple[Tuple[str, str], ...]) -> int:
        if self._state in ("stopping", "stopped"):
            raise UsageError("the server was stopped: make another one")
        completions = self._here()
        if not self._handle:
            handle = _native.server_create(self._options)
            self._from = completions
            self._handle = handle
            completions.servers.add(handle)
            for path, method in self._methods.items():
                tag = completions.add_method(_OnEvent(self, method))
                self._tags.append(tag)
                _native.server_method(handle, path, method.is_unary, completions.queue, tag)
            tag = completions.add_method(_OnEvent(self, None))
            self._tags.append(tag)
            _native.server_method(handle, "*", False, completions.queue, tag)
        return _native.server_listen(self._handle, address, options)

    def _here(self) -> _completions.Completions:
        try:
            here = _completions.of_running_loop()
        except RuntimeError as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError("no event loop is running: use the server in a coroutine of the event loop that is to serve") from None
        if self._from is not None and here is not self._from:
            raise UsageError("the server has its ports in another event loop: use it there")
        return here

    # --- start and stop

    async def start(self) -> None:
        """Runs the handlers of the calls that came, and come."""
        self._here()
        if self._state != "new":
            raise UsageError(f"the server cannot start: it is {self._state}")
        if not self._handle:
            raise UsageError("the server has no port: call add_insecure_port() or add_secure_port() first")
        self._state = "started"
        early, self._early = self._early, []
        for context in early:
            if not context._ended:
                context._start()

    async def stop(self, grace: Optional[float] = None) -> None:
        """Accepts no connection and no call any more, and gives the running ones `grace` seconds to end; None and 0 cancel them at once.
        Returns when the tasks of all handlers have ended. May be called again, for a shorter time."""
        if grace is not None and math.isnan(grace):
            raise ValueError("the grace is not a number (NaN): pass seconds, or None to cancel the calls at once")
        if not self._handle:
            self._state = "stopped"
            self._stopped.set()
            return
        completions = self._here()
        if self._end_task is None:
            self._state = "stopping"
            self._drained = completions.loop.create_future()
            self._drain_tag = completions.add_method(self._on_drained)
            self._tags.append(self._drain_tag)
        seconds = max(0.0, grace or 0.0)
        _native.server_drain(self._handle, int(seconds * 1e9) if seconds < NO_LIMIT / 1e9 else NO_LIMIT, completions.queue, self._drain_tag)
        if self._end_task is None:
            self._end_task = completions.loop.create_task(self._finish())
        await asyncio.shield(self._end_task)

    async def wait_for_termination(self, timeout: Optional[float] = None) -> bool:
        """Waits until the server has stopped, at most `timeout` seconds. Returns whether that time has passed first."""
        try:
            await asyncio.wait_for(self._stopped.wait(), timeout)
        except asyncio.TimeoutError:
            return True
        return False

    async def __aenter__(self) -> "Server":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _finish(self) -> None:
        assert self._from is not None and self._drained is not None
        await self._drained
        leaving = self._leaving - {asyncio.current_task()}
        if leaving:
            await asyncio.wait(leaving)
        self._from.servers.discard(self._handle)
        handle, self._handle = self._handle, 0
        _native.server_destroy(handle)
        for tag in self._tags:
            self._from.remove_method(tag)
        self._state = "stopped"
        self._stopped.set()

    def _on_drained(self, kind: int, _: Any) -> None:
        if kind == KIND_DRAINED and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # --- calls

    def _begin(self, known: Optional[_Method], request: _Request) -> None:
        call = request[0]
        try:
            method = known or self._find(request[2], request[4])
            if method is None:
                _native.answer(call, StatusCode.UNIMPLEMENTED, f"the server has no method {request[2]}", b"", None, ())
                return
            assert self._from is not None
            context = Context(self, method, request, self._from)
            self._calls[call] = context
            if self._state == "new":
                self._early.append(context)
            else:
                context._start()
        except Exception as error:
            _log.exception("a call of %s cannot be handled: %s", request[2], _text_of(error))
            self._calls.pop(call, None)
            try:
                _native.call_release(call)  # which ends it with UNKNOWN
            except UsageError:
                pass

    def _find(self, path: str, metadata: Metadata) -> Optional[_Method]:
        method = self._methods.get(path)
        if method is not None:
            return method
        details = HandlerCallDetails(path, metadata)
        for generic in self._generic:
            found = generic.service(details)
            if found is not None:
                return _Method(path, found)
        return None

    async def _intercept(self, known: _Method, metadata: Metadata) -> _Method:
        async def last(_: Any) -> Any:
            return known.origin

        continuation: Callable[[Any], Awaitable[Any]] = last
        for interceptor in reversed(self._interceptors):
            continuation = functools.partial(interceptor.intercept_service, continuation)
        found = await continuation(HandlerCallDetails(known.path, metadata))
        if found is known.origin:
            return known
        if found is None:
            raise UsageError("an interceptor returned no handler: return the one of the continuation, or another one")
        other = _Method(known.path, found)
        if known.is_unary and not other.is_unary:
            raise UsageError(f"an interceptor returned a handler of streams for {known.path}, which has one request and one reply")
        return other

    def _end(self, call: int) -> None:
        context = self._calls.pop(call, None)
        if context is not None:
            context._end()

    def _forget(self, call: int) -> None:
        self._calls.pop(call, None)

    def _keep(self, task: "asyncio.Task[None]") -> None:
        """Event loops do not keep their tasks."""
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)


class _OnEvent:
    """The events of one method."""

    __slots__ = ("_server", "_method")

    def __init__(self, server: Server, method: Optional[_Method]) -> None:
        self._server = server
        self._method = method

    def __call__(self, kind: int, outcome: Any) -> None:
        if kind == KIND_REQUEST:
            self._server._begin(self._method, outcome)
        else:
            self._server._end(outcome)


__all__ = ["AbortError", "Context", "HandlerCallDetails", "MethodHandler", "Server"]
