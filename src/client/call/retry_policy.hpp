// retry_policy: a method's retryPolicy and hedgingPolicy, and the retry throttle (gRFC A6).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"

#include <atomic>
#include <cstdint>

namespace coracle::client {

class status_code_set {
 public:
  constexpr status_code_set() noexcept = default;
  constexpr status_code_set& add(status_code c) noexcept { return bits_ |= bit(c), *this; }
  [[nodiscard]] constexpr bool contains(status_code c) const noexcept { return (bits_ & bit(c)) != 0; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

 private:
  static constexpr std::uint32_t bit(status_code c) noexcept { return 1u << static_cast<unsigned>(c); }
  std::uint32_t bits_ = 0;
};

// The maximum number of attempts, whatever a policy says (gRFC A6).
inline constexpr unsigned attempts_max = 5;

// Validated when its service config was parsed.
struct retry_policy {
  unsigned max_attempts = attempts_max;  // including the first one; 2 to attempts_max
  duration initial_backoff{};            // > 0
  duration max_backoff{};                // > 0
  double backoff_multiplier = 1;         // > 0
  status_code_set retryable;             // not empty
};

// Validated when its service config was parsed.
struct hedging_policy {
  unsigned max_attempts = attempts_max;  // including the first one; 2 to attempts_max
  duration delay{};                      // between attempts; 0: all at once
  status_code_set non_fatal;             // other codes end the call; may be empty
};

// One per channel, shared by all of its loops; any thread. It counts in thousandths of a token, the precision
// of tokenRatio. It is full at first. A failure costs one token, a success adds tokenRatio. Retries are not
// allowed at half of the maximum or less.
class retry_throttle {
 public:
  // 0 < max_tokens <= 1000; 0 < ratio_thousandths.
  retry_throttle(std::int32_t max_tokens, std::int32_t ratio_thousandths) noexcept
      : full_(max_tokens * 1000), ratio_(ratio_thousandths), tokens_(full_) {}
  // After a change of configuration: keeps the proportion that `before` was filled to.
  retry_throttle(std::int32_t max_tokens, std::int32_t ratio_thousandths,
                 const retry_throttle& before) noexcept
      : retry_throttle(max_tokens, ratio_thousandths) {
    const std::int64_t scaled = std::int64_t{before.tokens()} * full_ / before.full_;
    tokens_.store(static_cast<std::int32_t>(scaled), std::memory_order_relaxed);
  }

  [[nodiscard]] bool allows() const noexcept { return tokens() > full_ / 2; }
  // An attempt has failed with a retryable (hedging: non-fatal) status, or the server has prohibited further
  // attempts. Returns whether another attempt may follow.
  bool failed() noexcept { return change(-1000) > full_ / 2; }
  void succeeded() noexcept {
    // The common case of a healthy server: does not write to memory that other loops read.
    if (tokens() < full_) change(ratio_);
  }
  [[nodiscard]] std::int32_t tokens() const noexcept { return tokens_.load(std::memory_order_relaxed); }

 private:
  std::int32_t change(std::int32_t by) noexcept {
    std::int32_t before = tokens();
    while (true) {
      const std::int64_t wanted = std::int64_t{before} + by;
      const std::int32_t after = wanted < 0 ? 0 : wanted > full_ ? full_ : static_cast<std::int32_t>(wanted);
      if (tokens_.compare_exchange_weak(before, after, std::memory_order_relaxed)) return after;
    }
  }
  const std::int32_t full_;
  const std::int32_t ratio_;
  std::atomic<std::int32_t> tokens_;
};

}  // namespace coracle::client
