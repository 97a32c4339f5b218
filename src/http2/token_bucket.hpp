// token_bucket: permits a burst, and a number of events per second after it.
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

// Stores no rate, because every connection has several buckets; pass the same rate each time.
class token_bucket {
 public:
  explicit token_bucket(time_point now) noexcept : full_at_(now) {}

  // Takes a token. Returns false if the bucket is empty.
  [[nodiscard]] bool take(time_point now, token_rate rate) noexcept {
    const duration each = time_of_each(rate);
    full_at_ = std::max(full_at_, now);
    // The tokens are the burst less those that are yet to be refilled, of which the last may be a fraction.
    if (rate.burst == 0 || (full_at_ - now + each - duration(1)) / each >= rate.burst) return false;
    full_at_ += each;
    return true;
  }

 private:
  static duration time_of_each(token_rate rate) noexcept {
    if (rate.per_second == 0) return duration::max() / (std::int64_t{rate.burst} + 1) / 2;  // never
    return std::max(duration(std::chrono::seconds(1)) / rate.per_second, duration(1));
  }
  time_point full_at_;  // when the bucket will be full if nothing is taken
};

}  // namespace coracle::http2
