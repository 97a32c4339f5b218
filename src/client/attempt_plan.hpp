// attempt_plan: what gRFC A6 says comes after an attempt. Numbers only: no I/O, no clock, no chance.
#pragma once

#include "client/attempt_end.hpp"
#include "client/retry_policy.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::client {

// What is to be done when an attempt has failed.
struct next_step {
  enum class what : std::uint8_t {
    again,  // begin another attempt after the pause
    wait,   // for the attempts that are on their way
    give_up // the call ends as this attempt did
  };
  what to_do = what::give_up;
  duration pause{};
};

// Of one call, under one of the two policies. Transparent retries are not counted here.
class attempt_plan {
 public:
  attempt_plan(std::shared_ptr<const retry_policy> p, std::shared_ptr<retry_throttle> t) noexcept
      : retry_(std::move(p)), throttle_(std::move(t)) {}
  attempt_plan(std::shared_ptr<const hedging_policy> p, std::shared_ptr<retry_throttle> t) noexcept
      : hedging_(std::move(p)), throttle_(std::move(t)) {}

  [[nodiscard]] bool hedges() const noexcept { return hedging_ != nullptr; }
  // Counts an attempt that begins; gives how many there were before it.
  unsigned begin() noexcept { return made_++; }
  // When to begin another one beside those on their way, unless something ends before; nothing: never.
  [[nodiscard]] std::optional<duration> next_hedge() const noexcept;
  // Whether that is still so at its time.
  [[nodiscard]] bool hedge_allowed() noexcept;
  // on_their_way: attempts that have not ended. random: spreads the pauses.
  next_step failed(const attempt_end& e, unsigned on_their_way, std::uint64_t random) noexcept;
  // The call has ended with the attempt that it was committed to.
  void committed_ended(status_code code) noexcept;

 private:
  next_step retry_after(const attempt_end& e, std::uint64_t random) noexcept;
  next_step hedge_after(const attempt_end& e, unsigned on_their_way) noexcept;
  [[nodiscard]] duration backoff(std::uint64_t random) noexcept;
  [[nodiscard]] const status_code_set& repeatable() const noexcept {
    return retry_ ? retry_->retryable : hedging_->non_fatal;
  }
  // Counts a failure; whether another attempt may follow.
  bool count_failure() noexcept { return !throttle_ || throttle_->failed(); }

  std::shared_ptr<const retry_policy> retry_;
  std::shared_ptr<const hedging_policy> hedging_;
  std::shared_ptr<retry_throttle> throttle_;
  unsigned made_ = 0;
  unsigned pauses_ = 0;  // since the server last said how long to wait
  bool no_more_ = false;
};

}  // namespace coracle::client
