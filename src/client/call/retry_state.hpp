// retry_state: decides what follows an attempt, by the rules of gRFC A6, without I/O, clock or randomness.
#pragma once

#include "client/call/attempt_result.hpp"
#include "client/call/retry_policy.hpp"
#include "coracle/client/retry_budget.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace coracle::client {

// What to do after an attempt has failed.
struct next_step {
  enum class action : std::uint8_t {
    retry,  // begin another attempt after the pause
    wait,   // for the attempts that are in flight
    fail // the call ends with the result of this attempt
  };
  action next = action::fail;
  duration pause{};
};

// The attempts of one call, under one of the two policies. Transparent retries do not count here.
class retry_state {
 public:
  // The throttle and the budget, which must outlive this, may be null.
  retry_state(std::shared_ptr<const retry_policy> p, std::shared_ptr<retry_throttle> t,
              retry_budget* b = nullptr) noexcept
      : retry_(std::move(p)), throttle_(std::move(t)), budget_(b) {}
  retry_state(std::shared_ptr<const hedging_policy> p, std::shared_ptr<retry_throttle> t,
              retry_budget* b = nullptr) noexcept
      : hedging_(std::move(p)), throttle_(std::move(t)), budget_(b) {}

  [[nodiscard]] bool hedges() const noexcept { return hedging_ != nullptr; }
  // Counts an attempt that begins; returns the number of attempts before it.
  unsigned begin() noexcept {
    if (budget_ && made_ == 0) budget_->call_began();
    return made_++;
  }
  // Returns when to begin another attempt in addition to those in flight, unless an attempt ends before;
  // nothing means never.
  [[nodiscard]] std::optional<duration> next_hedge() const noexcept;
  // Whether the throttle or the budget has prevented an attempt since the last call.
  [[nodiscard]] bool take_throttled() noexcept { return std::exchange(throttled_, false); }
  // Checks again, at the time of a retry or a hedge, whether it is still allowed; it then begins, and has
  // taken its part of the budget.
  [[nodiscard]] bool attempt_allowed() noexcept;
  // attempts_in_flight: the attempts that have not ended. random: adds jitter to the pauses.
  next_step failed(const attempt_result& e, unsigned attempts_in_flight, std::uint64_t random) noexcept;
  // The attempt that the call was committed to has ended, and the call with it.
  void committed_ended(status_code code) noexcept;

 private:
  next_step retry_after(const attempt_result& e, std::uint64_t random) noexcept;
  next_step hedge_after(const attempt_result& e, unsigned attempts_in_flight) noexcept;
  [[nodiscard]] duration backoff(std::uint64_t random) noexcept;
  [[nodiscard]] const status_code_set& repeatable() const noexcept {
    return retry_ ? retry_->retryable : hedging_->non_fatal;
  }
  // Counts a failure. Returns whether another attempt may follow.
  bool count_failure() noexcept { return !throttle_ || throttle_->failed(); }

  std::shared_ptr<const retry_policy> retry_;
  std::shared_ptr<const hedging_policy> hedging_;
  std::shared_ptr<retry_throttle> throttle_;
  retry_budget* budget_;
  unsigned made_ = 0;
  unsigned pauses_ = 0;  // since the last pushback with a delay
  bool no_more_ = false;
  bool throttled_ = false;
};

}  // namespace coracle::client
