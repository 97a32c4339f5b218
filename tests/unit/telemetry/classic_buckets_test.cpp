#include "telemetry/prometheus/classic_buckets.hpp"

#include "telemetry/metrics/exponential_histogram.hpp"
#include "telemetry/metrics/histogram.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace coracle::telemetry_internal::prometheus::classic_buckets_test {
namespace {

TEST(ClassicBuckets, AreBoundedAndSpanTheBoundsOfTheInstrument) {
  for (const std::span<const double> of :
       {std::span<const double>(latency_bounds_s), std::span<const double>(size_bounds_bytes),
        std::span<const double>()}) {
    const std::vector<double> bounds = converted_bounds(of);
    EXPECT_LE(bounds.size(), converted_buckets_max + 1);
    EXPECT_EQ(bounds.front(), 0);
    EXPECT_TRUE(std::ranges::is_sorted(bounds));
    EXPECT_EQ(std::ranges::adjacent_find(bounds), bounds.end());
    if (of.empty()) continue;
    EXPECT_LE(bounds[1], of[1]);
    EXPECT_GE(bounds.back(), of.back());
  }
  const std::vector<double> wide{1e-300, 1e300};
  EXPECT_LE(converted_bounds(wide).size(), converted_buckets_max + 1);
}

TEST(ClassicBuckets, CountExactlyWhatIsBelowEachBound) {
  const std::vector<double> bounds = converted_bounds(latency_bounds_s);
  std::mt19937 random(7);
  std::lognormal_distribution<double> some(-6, 2);
  exponential_histogram h;
  std::vector<double> values{0, 0.5, 1, 2, 200};
  for (int i = 0; i < 5000; ++i) values.push_back(some(random));
  for (const double v : values) h.add(v);
  ASSERT_GE(h.data().scale, 1);
  const auto counts = converted_counts(h.data(), bounds);
  ASSERT_EQ(counts.size(), bounds.size() + 1);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    below += counts[i];
    EXPECT_EQ(below, static_cast<std::uint64_t>(
                         std::ranges::count_if(values, [&](double v) { return v <= bounds[i]; })))
        << bounds[i];
  }
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), values.size());
}

TEST(ClassicBuckets, LoseNothingOfValuesThatAreFarApart) {
  exponential_histogram h;
  h.add(1e-300);
  h.add(1);
  h.add(1e300);
  EXPECT_LT(h.data().scale, 0);
  const auto counts = converted_counts(h.data(), converted_bounds(latency_bounds_s));
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 3U);
  EXPECT_EQ(counts.back(), 1U);
}

}  // namespace
}  // namespace coracle::telemetry_internal::prometheus::classic_buckets_test
