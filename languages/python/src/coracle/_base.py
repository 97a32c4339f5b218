"""What the channels of threads and of asyncio have in common: a handle, and methods by their paths."""

from __future__ import annotations

from typing import Any, Generic, Mapping, Optional, Type, TypeVar

from . import _native
from ._errors import Metadata
from ._options import WAIT_FOR_READY, Credentials, Deserializer, Option, Serializer, as_bytes, make_channel, timeout_ns


class Method:
    """A method of a service: where it is called, and how its messages become bytes."""

    __slots__ = ("_channel", "_path", "_serializer", "_deserializer")

    def __init__(self, channel: "BaseChannel[Any, Any, Any, Any]", path: str, serializer: Optional[Serializer],
                 deserializer: Optional[Deserializer]) -> None:
        self._channel = channel
        self._path = path
        self._serializer = serializer or as_bytes
        self._deserializer = deserializer or as_bytes

    def _begin_stream(self, timeout: Optional[float], metadata: Optional[Metadata], wait_for_ready: Optional[bool]) -> int:
        """Begins a call with streams, and returns its handle."""
        return _native.stream(self._channel._handle, self._path, timeout_ns(timeout), metadata,
                              WAIT_FOR_READY if wait_for_ready else 0)


OneToOne = TypeVar("OneToOne", bound=Method)
OneToMany = TypeVar("OneToMany", bound=Method)
ManyToOne = TypeVar("ManyToOne", bound=Method)
ManyToMany = TypeVar("ManyToMany", bound=Method)


class BaseChannel(Generic[OneToOne, OneToMany, ManyToOne, ManyToMany]):
    """Connects to the servers of a target."""

    # The classes of its methods.
    _one_to_one: Type[OneToOne]
    _one_to_many: Type[OneToMany]
    _many_to_one: Type[ManyToOne]
    _many_to_many: Type[ManyToMany]

    def __init__(self, target: str, credentials: Credentials, options: Optional[Mapping[str, Option]] = None) -> None:
        """`options` are those of coracle::channel_options by their names: {"keepalive.time": timedelta(seconds=30)}."""
        self._handle = make_channel(target, credentials, options)

    def unary_unary(self, method: str, request_serializer: Optional[Serializer] = None,
                    response_deserializer: Optional[Deserializer] = None, _registered_method: bool = False) -> OneToOne:
        """A method by its path; without serializers its messages are bytes."""
        return self._one_to_one(self, method, request_serializer, response_deserializer)

    def unary_stream(self, method: str, request_serializer: Optional[Serializer] = None,
                     response_deserializer: Optional[Deserializer] = None, _registered_method: bool = False) -> OneToMany:
        """The same with many replies."""
        return self._one_to_many(self, method, request_serializer, response_deserializer)

    def stream_unary(self, method: str, request_serializer: Optional[Serializer] = None,
                     response_deserializer: Optional[Deserializer] = None, _registered_method: bool = False) -> ManyToOne:
        """The same with many requests."""
        return self._many_to_one(self, method, request_serializer, response_deserializer)

    def stream_stream(self, method: str, request_serializer: Optional[Serializer] = None,
                      response_deserializer: Optional[Deserializer] = None, _registered_method: bool = False) -> ManyToMany:
        """The same with many requests and replies."""
        return self._many_to_many(self, method, request_serializer, response_deserializer)

    def _close(self) -> None:
        handle, self._handle = self._handle, 0
        if handle:
            _native.channel_close(handle)
            _native.channel_destroy(handle)

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", 0), 0
        if handle:
            try:
                _native.channel_destroy(handle)
            except _native.UsageError:
                pass  # in a forked child
