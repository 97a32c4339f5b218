// connectivity: the state of a channel's connections to its servers.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>
#include <string_view>

namespace coracle {

/// The state of a channel (grpc/grpc doc/connectivity-semantics-and-api.md).
///
///   IDLE --a call, connect()--> CONNECTING --> READY --lost, or idle timeout--> IDLE
///                                 |   ^
///                                 v   | automatically, after a pause
///                            TRANSIENT_FAILURE
enum class connectivity : std::uint8_t {
  idle,               ///< no connection, and none is being made
  connecting,         ///< resolves the target or connects
  ready,              ///< has a connection
  transient_failure,  ///< could not connect; pauses before the next attempt
  shutdown,           ///< was closed, or is a handle without a channel
};

/// Returns the name of the state as the specification spells it: "TRANSIENT_FAILURE" and so on.
[[nodiscard]] constexpr std::string_view name_of(connectivity c) noexcept {
  switch (c) {
    case connectivity::idle: return "IDLE";
    case connectivity::connecting: return "CONNECTING";
    case connectivity::ready: return "READY";
    case connectivity::transient_failure: return "TRANSIENT_FAILURE";
    case connectivity::shutdown: return "SHUTDOWN";
  }
  return "?";
}

}  // namespace coracle
