// A token bucket: a burst, and so many a second after it.
#pragma once

#include "coracle/base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace coracle::http2 {

struct token_rate {
  std::uint32_t burst;
  std::uint32_t per_second;
};

// Every connection has some: the rate is kept elsewhere. It is the same each time.
class token_bucket {
 public:
  explicit token_bucket(time_point now) noexcept : full_at_(now) {}

  // False when it is empty.
  [[nodiscard]] bool take(time_point now, token_rate rate) noexcept {
    const duration each = time_of_each(rate);
    full_at_ = std::max(full_at_, now);
    // Its tokens are the burst less those that it has yet to earn, of which the youngest may be a fraction.
    if (rate.burst == 0 || (full_at_ - now + each - duration(1)) / each >= rate.burst) return false;
    full_at_ += each;
    return true;
  }

 private:
  static duration time_of_each(token_rate rate) noexcept {
    if (rate.per_second == 0) return duration::max() / (std::int64_t{rate.burst} + 1) / 2;  // never
    return std::max(duration(std::chrono::seconds(1)) / rate.per_second, duration(1));
  }
  time_point full_at_;  // when it will be, if nothing is taken
};

}  // namespace coracle::http2
