#include "runtime/iteration_times.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>

namespace coracle::runtime_internal::iteration_times_test {
namespace {

using namespace std::chrono_literals;

TEST(iteration_times, AValueThatIsEqualToABoundLiesBelowIt) {
  for (std::size_t i = 0; i < iteration_times::bounds; ++i) {
    iteration_times times;
    times.add(iteration_times::bound(i));
    times.add(iteration_times::bound(i) + 1ns);
    EXPECT_EQ(times.counts()[i], 1U) << i;
    EXPECT_EQ(times.counts()[i + 1], 1U) << i;
  }
}

TEST(iteration_times, TheFirstAndTheLastBucketHaveTheRest) {
  iteration_times times;
  for (const duration d : {0ns, 1ns, 2ns}) times.add(d);
  times.add(1h);
  EXPECT_EQ(times.counts().front(), 3U);
  EXPECT_EQ(times.counts().back(), 1U);
  EXPECT_EQ(times.sum_ns(), 3U + 3'600'000'000'000U);
}

}  // namespace
}  // namespace coracle::runtime_internal::iteration_times_test
