#include "tools/load/method_mix.hpp"

#include "tools/load/fixed_requests.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace coracle::tools::load::method_mix_test {
namespace {

method_mix mix_of(const std::vector<std::uint32_t>& weights) {
  method_mix m;
  for (const std::uint32_t w : weights)
    m.add(std::make_unique<fixed_requests>("/a.B/" + std::to_string(w), call_kind::unary, ""), w);
  return m;
}

TEST(MethodMix, EachCycleHasTheProportionsExactly) {
  const method_mix m = mix_of({5, 1, 4});
  for (std::uint64_t cycle = 0; cycle < 3; ++cycle) {
    std::vector<int> seen(3);
    for (std::uint64_t n = 0; n < 10; ++n) ++seen[m.pick(cycle * 10 + n)];
    EXPECT_EQ(seen, (std::vector<int>{5, 1, 4}));
  }
}

TEST(MethodMix, SpreadsAMethodOverItsCycle) {
  const method_mix m = mix_of({1, 1});
  for (std::uint64_t n = 0; n < 6; ++n) EXPECT_NE(m.pick(n), m.pick(n + 1));
  const method_mix three = mix_of({3, 1});
  int in_a_row = 0;
  for (std::uint64_t n = 0; n < 8; ++n) {
    in_a_row = three.pick(n) == 0 ? in_a_row + 1 : 0;
    EXPECT_LE(in_a_row, 3);
  }
}

TEST(MethodMix, OneMethodIsAlwaysTheFirst) {
  const method_mix m = mix_of({7});
  for (std::uint64_t n = 0; n < 20; ++n) EXPECT_EQ(m.pick(n), 0u);
}

}  // namespace
}  // namespace coracle::tools::load::method_mix_test
