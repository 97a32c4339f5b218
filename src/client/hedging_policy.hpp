// hedging_policy: a method's hedgingPolicy (gRFC A6).
#pragma once

#include "client/retry_policy.hpp"

namespace coracle::client {

// Checked when its service config was parsed.
struct hedging_policy {
  unsigned max_attempts = attempts_max;  // the first one included; 2 to attempts_max
  duration delay{};                      // between attempts; 0: all at once
  status_code_set non_fatal;             // others end the call; may be empty
};

}  // namespace coracle::client
