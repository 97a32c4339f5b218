// connection_figures: what a connection has done so far.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::transport {

// Times are those of the turn; zero where nothing of the kind has happened yet.
struct connection_figures {
  std::uint64_t streams_started = 0;
  std::uint64_t streams_succeeded = 0;  // whose end was sent (server) or received (client)
  std::uint64_t streams_open = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t keepalives_sent = 0;
  time_point last_stream_started{};
  time_point last_message_sent{};
  time_point last_message_received{};
  std::int64_t send_window_bytes = 0;
  std::int64_t receive_window_bytes = 0;
};

}  // namespace coracle::transport
