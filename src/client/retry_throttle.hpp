// retry_throttle: keeps the retries of all clients from burying a server that is down (gRFC A6, throttling).
#pragma once

#include <atomic>
#include <cstdint>

namespace coracle::client {

// One for a channel, for all of its loops; any thread. Counts in thousandths of a token, as fine as a tokenRatio is
// read. Full at first; a failure costs a token, a success gives tokenRatio back; at half or less nobody retries.
class retry_throttle {
 public:
  // 0 < max_tokens <= 1000; 0 < ratio_thousandths.
  retry_throttle(std::int32_t max_tokens, std::int32_t ratio_thousandths) noexcept
      : full_(max_tokens * 1000), ratio_(ratio_thousandths), tokens_(full_) {}
  // After a change of configuration: as full as `before` was, in proportion.
  retry_throttle(std::int32_t max_tokens, std::int32_t ratio_thousandths,
                 const retry_throttle& before) noexcept
      : retry_throttle(max_tokens, ratio_thousandths) {
    const std::int64_t scaled = std::int64_t{before.tokens()} * full_ / before.full_;
    tokens_.store(static_cast<std::int32_t>(scaled), std::memory_order_relaxed);
  }

  [[nodiscard]] bool allows() const noexcept { return tokens() > full_ / 2; }
  // An attempt has failed with a retryable (hedging: non-fatal) status, or was told not to come back. Whether
  // another one may follow.
  bool failed() noexcept { return change(-1000) > full_ / 2; }
  void succeeded() noexcept {
    // The common case of a healthy server: nothing is written that other loops read.
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
