// retry_pushback: what a handler says to the retries of its clients (gRFC A6, "Pushback").
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/server_context.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

namespace coracle {

// Before the handler ends with a status that clients may retry: when to come back, in place of their own pauses. To the
// millisecond, 0 to 24 days. Clients without a policy pass it over.
inline void retry_after(server_context& context, duration d) {
  constexpr std::int64_t most_ms = std::numeric_limits<std::int32_t>::max();
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  context.trailing_metadata().add_received("grpc-retry-pushback-ms",
                                           std::to_string(std::clamp<std::int64_t>(ms, 0, most_ms)));
}

// Likewise: not to come back at all with this call.
inline void do_not_retry(server_context& context) {
  context.trailing_metadata().add_received("grpc-retry-pushback-ms", "-1");
}

}  // namespace coracle
