#include "tools/load/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace coracle::tools::load::latency_histogram_test {
namespace {

using namespace std::chrono_literals;

TEST(LatencyHistogram, IsZeroWhileItIsEmpty) {
  const latency_histogram h;
  EXPECT_EQ(h.count(), 0u);
  EXPECT_EQ(h.min(), 0ns);
  EXPECT_EQ(h.max(), 0ns);
  EXPECT_EQ(h.mean(), 0ns);
  EXPECT_EQ(h.quantile(0.99), 0ns);
  EXPECT_TRUE(h.places().empty());
}

TEST(LatencyHistogram, QuantilesAreAtMost2PercentAboveTheTrueOnes) {
  latency_histogram h;
  for (int us = 1; us <= 100'000; ++us) h.add(std::chrono::microseconds(us));
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double truth = q * 100'000e3;
    const auto found = static_cast<double>(h.quantile(q).count());
    EXPECT_GE(found, truth) << q;
    EXPECT_LE(found, truth * 1.016 + 1) << q;
  }
}

TEST(LatencyHistogram, ExtremesAndMeanAreExact) {
  latency_histogram h;
  for (const duration d : {duration(1'000'003ns), duration(80'201ns), duration(3'600'000'000'001ns)})
    h.add(d);
  EXPECT_EQ(h.min(), 80'201ns);
  EXPECT_EQ(h.max(), 3'600'000'000'001ns);
  EXPECT_EQ(h.mean().count(), (1'000'003 + 80'201 + 3'600'000'000'001) / 3);
  EXPECT_EQ(h.quantile(0), h.min());
  EXPECT_EQ(h.quantile(1), h.max());
}

TEST(LatencyHistogram, TheNinthOfTenIsTheNinetiethPercentile) {
  latency_histogram h;
  for (int ns = 1; ns <= 10; ++ns) h.add(duration(ns));
  EXPECT_EQ(h.quantile(0.9), 9ns);
  EXPECT_EQ(h.quantile(0.91), 10ns);
  EXPECT_EQ(h.quantile(0.1), 1ns);
}

TEST(LatencyHistogram, CountsNegativeTimesAsZero) {
  latency_histogram h;
  h.add(-5ns);
  EXPECT_EQ(h.min(), 0ns);
  EXPECT_EQ(h.max(), 0ns);
}

TEST(LatencyHistogram, GrowsInBothDirections) {
  latency_histogram h;
  h.add(1ms);
  h.add(1us);
  h.add(1s);
  h.add(0ns);
  const auto places = h.places();
  ASSERT_EQ(places.size(), 4u);
  EXPECT_EQ(places.front().upto, 0ns);
  EXPECT_GE(places.back().upto, 1s);
  for (const auto& one : places) EXPECT_EQ(one.count, 1u);
}

TEST(LatencyHistogram, ASumHasWhatItsPartsHave) {
  latency_histogram low, high, both, sum;
  for (int i = 1; i < 500; ++i) {
    low.add(std::chrono::nanoseconds(i));
    high.add(std::chrono::milliseconds(i));
    both.add(std::chrono::nanoseconds(i));
    both.add(std::chrono::milliseconds(i));
  }
  sum.add_all(high);
  sum.add_all(latency_histogram());
  sum.add_all(low);
  EXPECT_EQ(sum.count(), both.count());
  EXPECT_EQ(sum.min(), both.min());
  EXPECT_EQ(sum.max(), both.max());
  for (const double q : {0.1, 0.5, 0.75, 0.99}) EXPECT_EQ(sum.quantile(q), both.quantile(q));
}

}  // namespace
}  // namespace coracle::tools::load::latency_histogram_test
