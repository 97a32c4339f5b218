// retry_budget: limits how many retries and hedges the channels that share it make together.
#pragma once

#include <atomic>
#include <cstdint>

namespace coracle {

/// Limits the retries and hedges of all channels that share it, such as all channels of a process, to a part
/// of their calls: a service that fails gets at most this much more load by retries.
///
///   options.retry_budget = std::make_shared<coracle::retry_budget>();  // one retry per ten calls
///
/// Each call with a retry or hedging policy adds `share` to the budget, which holds at most `reserve`, and
/// begins full. Each retry and each hedge takes one. Without one, the call ends with the result that it has.
/// Transparent retries, and calls without a policy, do not count. The throttle of a service config
/// (retryThrottling), which is one per channel, applies as well.
///
/// Any thread. Source: the retry budgets of Finagle and Site Reliability Engineering, chapter 21, "Deciding
/// to Retry".
class retry_budget {
 public:
  /// share: retries per call, from 0 to 1. reserve: retries that may follow each other without further calls,
  /// at most 1,000,000. Throws usage_error for other values.
  explicit retry_budget(double share = 0.1, std::uint32_t reserve = 100);
  retry_budget(const retry_budget&) = delete;
  retry_budget& operator=(const retry_budget&) = delete;

  /// Returns how many retries may be made now.
  [[nodiscard]] std::uint32_t available() const noexcept;

  /// @cond  For the library.
  void call_began() noexcept;
  [[nodiscard]] bool take() noexcept;
  /// @endcond

 private:
  const std::uint64_t share_;  // in millionths of a retry, as the others
  const std::uint64_t full_;
  std::atomic<std::uint64_t> balance_;
};

}  // namespace coracle
