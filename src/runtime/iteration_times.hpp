// iteration_times: how long the iterations of a loop took.
#pragma once

#include "coracle/base/clock.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coracle::runtime_internal {

// Counts durations in buckets, each of which is four times as wide as the one before, so that the position of
// the highest bit decides: an iteration is measured within a few instructions. For one loop.
class iteration_times {
 public:
  // Upper bounds: a value that is equal to one lies below it. From a microsecond to four seconds.
  static constexpr std::size_t bounds = 12;
  [[nodiscard]] static constexpr duration bound(std::size_t i) noexcept {
    return std::chrono::nanoseconds(std::int64_t{1} << (10 + 2 * i));
  }

  void add(duration took) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(took).count());
    ++counts_[bucket_by_width[static_cast<std::size_t>(std::bit_width(ns - (ns != 0 ? 1 : 0)))]];
    sum_ns_ += ns;
  }
  void add_stall() noexcept { ++stalls_; }

  [[nodiscard]] const std::array<std::uint64_t, bounds + 1>& counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t sum_ns() const noexcept { return sum_ns_; }
  // Iterations of event_ring::long_iteration_min or more.
  [[nodiscard]] std::uint64_t stalls() const noexcept { return stalls_; }

 private:
  // By the number of bits of a duration less one nanosecond.
  static constexpr auto bucket_by_width = [] {
    std::array<std::uint8_t, 65> all{};
    for (std::size_t width = 0; width < all.size(); ++width)
      while (all[width] < bounds && width > 10 + 2 * std::size_t{all[width]}) ++all[width];
    return all;
  }();

  std::array<std::uint64_t, bounds + 1> counts_{};
  std::uint64_t sum_ns_ = 0;
  std::uint64_t stalls_ = 0;
};

}  // namespace coracle::runtime_internal
