// connection_snapshot: the state and the counters of a connection, for channelz and for operators.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace coracle {

namespace net {
struct connection_details;  // private: src/net/duplex.hpp
}

/// A date and time; zero if the event has not happened yet.
using wall_time = std::chrono::system_clock::time_point;

/// The state of one connection (a "socket" in channelz). Counters start when the connection is made.
class connection_snapshot {
 public:
  /// All zero.
  connection_snapshot() = default;
  std::uint64_t id = 0;  ///< unique in the process; never reused
  net::address local;  ///< this side's address; empty for in-memory connections
  net::address peer;  ///< the other side's address
  bool secure = false;  ///< whether the connection has an identity of its peer: TLS after the handshake
  std::shared_ptr<const auth_context> auth;  ///< null in plaintext, and during the handshake
  std::uint64_t streams_started = 0;  ///< all calls of the connection so far
  std::uint64_t streams_succeeded = 0;  ///< the end of the stream was sent (server) or received (client)
  std::uint64_t streams_failed = 0;  ///< reset, or ended with the connection
  std::uint64_t streams_open = 0;  ///< now
  std::uint64_t messages_sent = 0;  ///< of all calls
  std::uint64_t messages_received = 0;  ///< of all calls
  std::uint64_t keepalives_sent = 0;  ///< PINGs of keepalive
  wall_time last_stream_started{};  ///< when the last call began
  wall_time last_message_sent{};  ///< when the last message left
  wall_time last_message_received{};  ///< when the last message arrived
  std::int64_t send_window_bytes = 0;     ///< how much the peer currently allows this side to send
  std::int64_t receive_window_bytes = 0;  ///< how much the peer may currently send
  /// The code of the peer's GOAWAY (RFC 9113 7), the first if there are several; none if it has sent none.
  std::optional<std::uint32_t> received_goaway;
  /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS; none if it has set no limit.
  std::optional<std::uint32_t> peer_max_concurrent_streams;
  /// @cond
  // Null, but in a snapshot for channelz that asks for this connection.
  std::shared_ptr<const net::connection_details> details;
  /// @endcond
};

static_assert(!std::is_aggregate_v<connection_snapshot>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
