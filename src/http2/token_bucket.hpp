// A token bucket: a burst, and so many a second after it.
#pragma once

#include "coracle/base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace coracle::http2 {

class token_bucket {
 public:
  token_bucket(std::uint32_t burst, std::uint32_t per_second, time_point now) noexcept
      : burst_(burst), per_second_(per_second), tokens_(burst), filled_(now) {}

  // False when it is empty.
  [[nodiscard]] bool take(time_point now) noexcept {
    if (now > filled_) refill(now);
    if (tokens_ == 0) return false;
    --tokens_;
    return true;
  }
  [[nodiscard]] std::uint32_t tokens() const noexcept { return tokens_; }

 private:
  void refill(time_point now) noexcept {
    if (per_second_ == 0) return;
    const duration each =
        std::max(std::chrono::nanoseconds(std::chrono::seconds(1)) / per_second_, duration(1));
    const std::int64_t earned = (now - filled_) / each;
    if (earned >= burst_ - tokens_) {
      tokens_ = burst_;
      filled_ = now;
    } else {
      tokens_ += static_cast<std::uint32_t>(earned);
      filled_ += each * earned;
    }
  }
  std::uint32_t burst_;
  std::uint32_t per_second_;
  std::uint32_t tokens_;
  time_point filled_;
};

}  // namespace coracle::http2
