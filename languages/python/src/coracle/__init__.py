"""gRPC on Coracle's C++ runtime: coracle.Channel for threads, coracle.aio.Channel and coracle.aio.Server for asyncio."""

from . import _native
from ._channel import Call, Channel, Future
from ._errors import Metadata, RpcError, StatusCode, UsageError
from ._options import Credentials, ServerCredentials, insecure, server_tls, tls
from ._stub import Stub, stub

__version__: str = _native.version()[0]
__all__ = ["Call", "Channel", "Credentials", "Future", "Metadata", "RpcError", "ServerCredentials", "StatusCode", "Stub", "UsageError",
           "insecure", "server_tls", "stub", "tls"]
