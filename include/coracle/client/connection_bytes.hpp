// connection_bytes: how many connections a channel has made, and how many bytes they have carried.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>

namespace coracle {

class channel;

/// Bytes of HTTP/2: messages with their gRPC prefix, compressed header fields, and all frames, including
/// SETTINGS, PING and WINDOW_UPDATE; or requests and responses of HTTP/1.1. TLS records and the headers of
/// TCP and IP are not included.
struct connection_bytes {
  std::uint64_t sent = 0;      ///< bytes handed to the connections
  std::uint64_t received = 0;  ///< bytes read from the connections
  /// The connections that were established: with HTTP/2, when the server's SETTINGS had arrived.
  std::uint64_t connections = 0;
};

/// Returns the bytes of all connections that the channel has made on the current loop, including those that
/// are closed. Zero if the caller is not on a loop of the channel's runtime, or if the channel has ended.
///
/// Bytes count as sent when they are handed to the connection, and as received when they have been read from
/// it. Costs a short walk over the channel's connections: call it once per interval, not once per call.
[[nodiscard]] connection_bytes bytes_of_connections(const channel& of) noexcept;

}  // namespace coracle
