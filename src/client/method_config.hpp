// method_config: what a service config says about the calls of one method.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::client {

struct retry_policy;
struct hedging_policy;
class retry_throttle;

// Part of a snapshot that never changes; the policies outlive it for as long as a call goes by them.
struct method_config {
  std::optional<duration> timeout;  // the smaller one of it and the caller's holds
  std::optional<bool> wait_for_ready;
  std::optional<std::uint32_t> max_request_bytes;
  std::optional<std::uint32_t> max_response_bytes;
  // One of them at most.
  std::shared_ptr<const retry_policy> retry;
  std::shared_ptr<const hedging_policy> hedging;
  // The channel's, shared by all of its methods; null: no throttling.
  std::shared_ptr<retry_throttle> throttle;
};

}  // namespace coracle::client
