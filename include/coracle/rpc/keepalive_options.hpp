// keepalive_options: the PINGs of a channel or server.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <type_traits>

namespace coracle {

/// How often a channel or server checks with a PING that its peer still answers (gRFC A8). An aggregate.
struct keepalive_options {
  /// Sends a PING when the peer sent nothing for this long. A channel waits at least 10 s. Default: never.
  duration time = duration::max();
  /// Closes the connection if nothing arrives for this long after the PING, or if TCP gets no acknowledgement
  /// of sent data for this long (gRFC A18). Default: 20 s.
  duration timeout = std::chrono::seconds(20);
  /// Of a channel: sends PINGs on connections without calls, too. A server always does. Default: false.
  bool without_calls = false;

  friend bool operator==(const keepalive_options&, const keepalive_options&) = default;
};
static_assert(std::is_trivially_destructible_v<keepalive_options>);

}  // namespace coracle
