"""gRPC clients on Coracle's C++ runtime: coracle.Channel for threads, coracle.aio.Channel for asyncio."""

from . import _native
from ._channel import Call, Channel, Future
from ._errors import Metadata, RpcError, StatusCode, UsageError
from ._options import Credentials, insecure, tls
from ._stub import Stub, stub

__version__: str = _native.version()[0]
__all__ = ["Call", "Channel", "Credentials", "Future", "Metadata", "RpcError", "StatusCode", "Stub", "UsageError", "insecure", "stub",
           "tls"]
