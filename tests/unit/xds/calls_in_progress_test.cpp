// How the calls in progress of clusters are told from each other.
#include "xds/balancing/calls_in_progress.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace coracle::xds::calls_in_progress_test {
namespace {

// A call that waits remembers which cluster has admitted it. That cluster may be gone, and another one have
// its place in memory.
TEST(CallsInProgress, HaveANumberThatNoLaterOneHas) {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    const auto one = calls_in_progress::of("cluster" + std::to_string(i), "");
    EXPECT_EQ(one->number(), calls_in_progress::of("cluster" + std::to_string(i), "")->number());
    EXPECT_NE(one->number(), 0u);
    numbers.insert(one->number());
  }
  EXPECT_EQ(numbers.size(), 100u);
}

}  // namespace
}  // namespace coracle::xds::calls_in_progress_test
