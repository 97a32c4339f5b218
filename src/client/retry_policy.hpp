// retry_policy: a method's retryPolicy (gRFC A6).
#pragma once

#include "client/status_code_set.hpp"
#include "coracle/base/clock.hpp"

namespace coracle::client {

// More attempts than this are not made, whatever a policy says (gRFC A6).
inline constexpr unsigned attempts_max = 5;

// Checked when its service config was parsed.
struct retry_policy {
  unsigned max_attempts = attempts_max;  // the first one included; 2 to attempts_max
  duration initial_backoff{};            // > 0
  duration max_backoff{};                // > 0
  double backoff_multiplier = 1;         // > 0
  status_code_set retryable;             // not empty
};

}  // namespace coracle::client
