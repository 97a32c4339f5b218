#include "telemetry/prometheus/classic_buckets.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace coracle::telemetry_internal::prometheus {

namespace {

// Of an instrument without bounds: from a microsecond to beyond a terabyte.
constexpr int lowest_exponent = -20;
constexpr int highest_exponent = 43;

}  // namespace

std::vector<double> converted_bounds(std::span<const double> of_instrument) {
  int low = lowest_exponent;
  int high = highest_exponent;
  const auto positive =
      std::ranges::find_if(of_instrument, [](double b) { return b > 0 && std::isfinite(b); });
  if (positive != of_instrument.end()) {
    double last = *positive;
    for (const double b : of_instrument)
      if (std::isfinite(b)) last = std::max(last, b);
    low = static_cast<int>(std::floor(std::log2(*positive)));
    high = static_cast<int>(std::ceil(std::log2(last)));
  }
  std::vector<double> bounds{0};
  const auto octaves = static_cast<std::size_t>(high - low);
  if (2 * octaves + 1 <= converted_buckets_max) {
    for (int e = low; e <= high; ++e) {
      bounds.push_back(std::ldexp(1, e));
      if (e < high) bounds.push_back(std::ldexp(std::numbers::sqrt2, e));
    }
    return bounds;
  }
  const auto step = static_cast<int>(octaves / converted_buckets_max + 1);
  for (int e = low; e <= high && bounds.size() <= converted_buckets_max; e += step)
    bounds.push_back(std::ldexp(1, e));
  return bounds;
}

std::vector<std::uint64_t> converted_counts(const exponential_buckets& from, std::span<const double> bounds) {
  std::vector<std::uint64_t> counts(bounds.size() + 1);
  counts.front() += from.zeros;
  // Powers are compared by their logarithms, which are small numbers: exact, unlike the powers themselves.
  std::vector<double> logarithms;
  for (const double b : bounds) logarithms.push_back(b > 0 ? std::round(2 * std::log2(b)) / 2 : -HUGE_VAL);
  for (std::size_t i = 0; i < from.counts.size(); ++i) {
    const double end = std::ldexp(static_cast<double>(from.offset) + static_cast<double>(i) + 1, -from.scale);
    counts[static_cast<std::size_t>(std::ranges::lower_bound(logarithms, end) - logarithms.begin())] +=
        from.counts[i];
  }
  return counts;
}

}  // namespace coracle::telemetry_internal::prometheus
