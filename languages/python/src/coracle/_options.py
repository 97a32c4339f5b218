"""Credentials, options and arguments, in the form that the native module takes."""

from __future__ import annotations

import atexit
import datetime
import math
from typing import Any, Callable, Mapping, Optional, Tuple, Union

from . import _native

Option = Union[str, bool, int, datetime.timedelta]
Serializer = Callable[[Any], bytes]
Deserializer = Callable[[bytes], Any]

WAIT_FOR_READY = 1
WRITE_LAST = 1
WRITE_UNCOMPRESSED = 2
KIND_UNARY, KIND_READ, KIND_WRITE = 1, 2, 3
KIND_REQUEST, KIND_ENDED, KIND_DRAINED = 6, 7, 8
NO_LIMIT = (1 << 63) - 1


class Credentials:
    """Plaintext or TLS: coracle.insecure() or coracle.tls()."""

    def __init__(self, options: Tuple[Tuple[str, str], ...]) -> None:
        self.options = options


def insecure() -> Credentials:
    """Plaintext: neither confidential nor authentic."""
    return Credentials((("credentials", "insecure"),))


def tls(*, ca: Optional[str] = None, ca_file: Optional[str] = None, certificate: Optional[str] = None,
        certificate_file: Optional[str] = None, key: Optional[str] = None, key_file: Optional[str] = None,
        target_name: Optional[str] = None, verify: bool = True) -> Credentials:
    """TLS; the system's authorities unless `ca` (PEM) or `ca_file` names others. A certificate with its key is presented to servers
    that ask for one. `target_name` and `verify` are for tests."""
    given = {"ca": ca, "ca_file": ca_file, "certificate": certificate, "certificate_file": certificate_file, "key": key,
             "key_file": key_file, "target_name": target_name, "verify": None if verify else "false"}
    named = tuple((f"tls.{name}", value) for name, value in given.items() if value is not None)
    return Credentials((("credentials", "tls"), *named))


class ServerCredentials:
    """What a port of a server needs for TLS: coracle.server_tls()."""

    def __init__(self, options: Tuple[Tuple[str, str], ...]) -> None:
        self.options = options


def _pem(text: Union[str, bytes, None]) -> Optional[str]:
    return text.decode("ascii") if isinstance(text, bytes) else text


def server_tls(*, certificate: Union[str, bytes, None] = None, certificate_file: Optional[str] = None,
               key: Union[str, bytes, None] = None, key_file: Optional[str] = None, client_ca: Union[str, bytes, None] = None,
               client_ca_file: Optional[str] = None, clients: Optional[str] = None) -> ServerCredentials:
    """TLS for Server.add_secure_port(): a certificate (with its chain) and its key, as PEM or as files, which are read again when they
    change. With `client_ca` or `client_ca_file`, clients need a certificate of that authority, unless `clients` is "requested" or
    "ignored"."""
    given = {"certificate": _pem(certificate), "certificate_file": certificate_file, "key": _pem(key), "key_file": key_file,
             "client_ca": _pem(client_ca), "client_ca_file": client_ca_file, "clients": clients}
    named = tuple((f"tls.{name}", value) for name, value in given.items() if value is not None)
    return ServerCredentials((("credentials", "tls"), *named))


def option_texts(options: Optional[Mapping[str, Option]]) -> Tuple[Tuple[str, str], ...]:
    """Options as the native module takes them."""
    return tuple((name, option_text(value)) for name, value in (options or {}).items())


def option_text(value: Option) -> str:
    """An option as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(microseconds=1)}us"
    return str(value)


def make_channel(target: str, credentials: Credentials, options: Optional[Mapping[str, Option]]) -> int:
    """The handle of a new channel."""
    return _native.channel_create(target, credentials.options + option_texts(options))


def timeout_ns(timeout: Optional[float]) -> int:
    """A timeout in seconds as the native module takes it; None is the channel's default."""
    if timeout is None:
        return 0
    if math.isnan(timeout):
        raise ValueError("a timeout is not a number (NaN): pass seconds, or None for no limit of the call's own")
    if timeout <= 0:
        return -1
    return int(timeout * 1e9) if timeout < NO_LIMIT / 1e9 else NO_LIMIT


def as_bytes(message: Any) -> bytes:
    """The serializer and deserializer of messages that are bytes."""
    return bytes(message)


atexit.register(_native.shut_down)
