// rejection: what a client gets whose call a server has not admitted.
#pragma once

#include "coracle/base/status.hpp"

namespace coracle::server_internal {

// UNAVAILABLE: no handler has seen the call, and retry policies of most service configs name this code. When
// and whether to retry comes with it (gRFC A6, "Pushback").
[[nodiscard]] inline status overloaded() {
  return status::unavailable("the server is overloaded (see server_options::admission)");
}
// What the client would get anyway, a moment later.
[[nodiscard]] inline status too_late() {
  return status::deadline_exceeded(
      "calls of the method usually take longer than until the deadline (see server_options::admission)");
}

}  // namespace coracle::server_internal
