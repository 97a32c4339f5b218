// retry_instruments: what the policies of channels measure beside the calls.
#pragma once

#include "coracle/base/metrics.hpp"

#include <span>

namespace coracle::client {

[[nodiscard]] std::span<const instrument* const> policy_instruments() noexcept;

// The throttle of a channel (gRFC A6) has prevented a retry or a hedge. On a loop.
void measure_throttled() noexcept;
// A channel has refused a call by itself (channel_options::throttling). On a loop.
void measure_call_throttled() noexcept;
// A call has lost its place among those that wait (channel_options::max_waiting_calls). On a loop.
void measure_call_displaced() noexcept;
// A call ends with an attempt that its hedging policy made beyond the first. On a loop.
void measure_hedge_won() noexcept;
// single_flight() has answered a call with the result of an equal one. On a loop.
void measure_call_shared() noexcept;

}  // namespace coracle::client
