"""Status codes and errors."""

from __future__ import annotations

import enum
from typing import Optional, Sequence, Tuple, Union

from ._native import UsageError

Metadata = Sequence[Tuple[str, Union[str, bytes]]]
# What the native module returns: status, message, and (text, details, initial metadata, trailing metadata) if there is any.
Rest = Optional[Tuple[str, bytes, Metadata, Metadata]]
Outcome = Tuple[int, Optional[bytes], Rest]


class StatusCode(enum.IntEnum):
    """The status codes of gRPC."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcError(Exception):
    """A call that did not end with OK."""

    def __init__(self, status: int, rest: Rest) -> None:
        text, details, initial, trailing = rest if rest is not None else ("", b"", (), ())
        self._code = StatusCode(status)
        self._text, self._details, self._initial, self._trailing = text, details, initial, trailing
        super().__init__(f"{self._code.name}: {text}" if text else self._code.name)

    def code(self) -> StatusCode:
        """The status code."""
        return self._code

    def details(self) -> str:
        """The text of the status, for people."""
        return self._text

    def status_details(self) -> bytes:
        """The bytes of a google.rpc.Status; empty if the server sent none."""
        return self._details

    def initial_metadata(self) -> Metadata:
        """What the server sent before its replies."""
        return self._initial

    def trailing_metadata(self) -> Metadata:
        """What the server sent with the status."""
        return self._trailing


__all__ = ["Metadata", "RpcError", "StatusCode", "UsageError"]
