// histogram: counts of values in buckets with fixed bounds, for one loop.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::telemetry_internal {

// The bounds of durations in seconds, and of sizes in bytes (gRFC A66). A value equal to a bound lies below
// it.
inline constexpr std::array<double, 41> latency_bounds_s{
    0,    0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008,
    0.01, 0.013,   0.016,   0.02,   0.025,  0.03,   0.04,   0.05,  0.065, 0.08,  0.1,   0.13,  0.16,  0.2,
    0.25, 0.3,     0.4,     0.5,    0.65,   0.8,    1,      2,     5,     10,    20,    50,    100};
inline constexpr std::array<double, 14> size_bounds_bytes{
    0,       1024,    2048,     4096,     16384,     65536,      262144,
    1048576, 4194304, 16777216, 67108864, 268435456, 1073741824, 4294967296};

// Finds buckets of whole numbers (nanoseconds, bytes) without a search: the position of a value's highest bit
// narrows the bounds down to the few within one power of two.
template <std::size_t Bounds>
class bucket_index {
 public:
  // scale: units of the bounds in units of the values, such as 1e9 for seconds and nanoseconds.
  constexpr bucket_index(const std::array<double, Bounds>& bounds, double scale) {
    for (std::size_t i = 0; i < Bounds; ++i) bounds_[i] = static_cast<std::uint64_t>(bounds[i] * scale + 0.5);
    bounds_[Bounds] = ~std::uint64_t{0};
    for (std::size_t bits = 0; bits < first_.size(); ++bits) {
      const std::uint64_t lowest = bits == 0 ? 0 : std::uint64_t{1} << (bits - 1);
      std::uint8_t i = 0;
      while (bounds_[i] < lowest) ++i;
      first_[bits] = i;
    }
  }
  [[nodiscard]] constexpr std::size_t operator()(std::uint64_t value) const noexcept {
    const std::uint64_t* bound = bounds_.data() + first_[static_cast<unsigned>(std::bit_width(value))];
    while (*bound < value) ++bound;
    return static_cast<std::size_t>(bound - bounds_.data());
  }

 private:
  std::array<std::uint64_t, Bounds + 1> bounds_{};
  std::array<std::uint8_t, 65> first_{};
};

inline constexpr bucket_index<latency_bounds_s.size()> latency_bucket{latency_bounds_s, 1e9};

// The bounds of sizes are 0 and powers of two, so that the highest bit of a value less 1 decides. That of 0
// less 1 is the 63rd, which no size less 1 has: the bucket of 0 needs no branch.
inline constexpr std::array<std::uint8_t, 64> size_bucket_by_highest_bit = [] {
  std::array<std::uint8_t, 64> all{};
  for (std::size_t bit = 0; bit < all.size() - 1; ++bit) {
    const auto largest = static_cast<double>(std::uint64_t{2} << bit);
    while (all[bit] < size_bounds_bytes.size() && size_bounds_bytes[all[bit]] < largest) ++all[bit];
  }
  return all;
}();
// bytes: less than 2^63.
[[nodiscard]] constexpr std::size_t size_bucket(std::uint64_t bytes) noexcept {
  return size_bucket_by_highest_bit[63U ^ static_cast<unsigned>(std::countl_zero((bytes - 1) | 1))];
}

// Of whole numbers. The number of values is the sum of the buckets.
template <std::size_t Bounds>
struct whole_histogram {
  std::array<std::uint64_t, Bounds + 1> buckets{};
  std::uint64_t sum = 0;

  void add(std::size_t bucket, std::uint64_t value) noexcept {
    ++buckets[bucket];
    sum += value;
  }
  void add(const whole_histogram& o) noexcept {
    for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] += o.buckets[i];
    sum += o.sum;
  }
  [[nodiscard]] histogram_data data(double scale) const {
    histogram_data d;
    d.buckets.assign(buckets.begin(), buckets.end());
    for (const std::uint64_t n : buckets) d.count += n;
    d.sum = static_cast<double>(sum) * scale;
    return d;
  }
};

using latency_histogram = whole_histogram<latency_bounds_s.size()>;  // of nanoseconds
using size_histogram = whole_histogram<size_bounds_bytes.size()>;  // of bytes

// Returns the bucket of `value` among any bounds.
[[nodiscard]] inline std::size_t bucket_of(std::span<const double> bounds, double value) noexcept {
  return static_cast<std::size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin());
}

}  // namespace coracle::telemetry_internal
