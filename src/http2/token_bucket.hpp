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
      : burst_(burst), per_second_(per_second), full_at_(now) {}

  // False when it is empty.
  [[nodiscard]] bool take(time_point now) noexcept {
    const duration each = time_of_each();
    full_at_ = std::max(full_at_, now);
    // Its tokens are `burst_` less those that it has yet to earn, of which the youngest may be a fraction.
    if (burst_ == 0 || (full_at_ - now + each - duration(1)) / each >= burst_) return false;
    full_at_ += each;
    return true;
  }

 private:
  [[nodiscard]] duration time_of_each() const noexcept {
    if (per_second_ == 0) return duration::max() / (std::int64_t{burst_} + 1) / 2;  // never
    return std::max(duration(std::chrono::seconds(1)) / per_second_, duration(1));
  }
  std::uint32_t burst_;
  std::uint32_t per_second_;
  time_point full_at_;  // when it will be, if nothing is taken
};

}  // namespace coracle::http2
