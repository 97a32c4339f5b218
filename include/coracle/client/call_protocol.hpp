// call_protocol, http_version: what a channel speaks to its servers.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>

namespace coracle {

/// The protocol of a channel's calls. Everything above it is the same for all: interceptors, metadata,
/// deadlines, retries, balancing, and the status with its details.
enum class call_protocol : std::uint8_t {
  grpc,  ///< gRPC, over HTTP/2 only
  grpc_web,  ///< gRPC-Web, whose trailers are in the body: passes proxies that do not forward trailers
  grpc_web_text,  ///< gRPC-Web with a body in base64
  /// The Connect protocol: the requests and responses of unary calls are plain HTTP bodies, and errors are
  /// JSON.
  connect,
  /// Plain HTTP with JSON by the rules of google.api.http, which channel_options::rest has; see rest_methods.
  rest,
};

/// The version of HTTP that a channel speaks.
enum class http_version : std::uint8_t {
  http2,  ///< over TLS by ALPN, in plaintext by prior knowledge
  /// A call occupies a connection, and the channel keeps a pool of connections to each server. Streams in
  /// both directions require a server that responds before the request has ended; many do not.
  http1,
};

}  // namespace coracle
