// latency_histogram: quantiles of many durations in little memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

// Buckets of 1/32 of a power of two of nanoseconds: a quantile is at most 3 % above the true one.
class latency_histogram {
 public:
  void add(std::chrono::nanoseconds d) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(d.count(), 0));
    ++counts_[std::min(place(ns), places - 1)];
    ++all_;
  }
  [[nodiscard]] double quantile_us(double q) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(q * static_cast<double>(all_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < places; ++i) {
      seen += counts_[i];
      if (counts_[i] && seen >= wanted) return static_cast<double>(upper_ns(i)) / 1000;
    }
    return 0;
  }

 private:
  static constexpr unsigned digits = 5;
  static constexpr std::size_t per_power = std::size_t{1} << digits;
  static constexpr std::size_t places = 40 * per_power;  // up to hours

  static std::size_t place(std::uint64_t ns) noexcept {
    if (ns < per_power) return ns;
    const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - digits;
    return shift * per_power + (ns >> shift);
  }
  static std::uint64_t upper_ns(std::size_t place) noexcept {
    if (place < 2 * per_power) return place;
    const std::size_t shift = place / per_power - 1;
    return (place - shift * per_power + 1) << shift;
  }
  std::array<std::uint64_t, places> counts_{};
  std::uint64_t all_ = 0;
};
