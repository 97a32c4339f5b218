#include "tools/load/arrivals.hpp"

#include "tools/failure.hpp"
#include "tools/load/scenario.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace coracle::tools::load::arrivals_test {
namespace {

using namespace std::chrono_literals;

double at_s(const arrivals& a, std::uint64_t n) { return std::chrono::duration<double>(a.at(n)).count(); }

TEST(Arrivals, ASteadyRateSpacesCallsEvenly) {
  const arrivals a({{10, 10, 5s}});
  EXPECT_EQ(a.planned(), 50u);
  EXPECT_EQ(a.length(), 5s);
  for (const std::uint64_t n : {0, 1, 7, 49}) EXPECT_NEAR(at_s(a, n), static_cast<double>(n) / 10, 1e-6);
}

TEST(Arrivals, ARampPlansTheAreaBelowItsRate) {
  const arrivals up({{0, 100, 10s}});
  EXPECT_EQ(up.planned(), 500u);
  EXPECT_NEAR(at_s(up, 125), 5.0, 1e-6);  // a quarter of the area lies in the first half
  const arrivals down({{100, 0, 10s}});
  EXPECT_EQ(down.planned(), 500u);
  EXPECT_NEAR(at_s(down, 375), 5.0, 1e-6);
  EXPECT_LT(at_s(down, 499), 10.0);
}

TEST(Arrivals, StagesFollowOneAnother) {
  const arrivals a({{100, 100, 1s}, {0, 0, 2s}, {100, 300, 1s}});
  EXPECT_EQ(a.planned(), 300u);
  EXPECT_EQ(a.length(), 4s);
  EXPECT_NEAR(at_s(a, 99), 0.99, 1e-6);
  EXPECT_NEAR(at_s(a, 100), 3.0, 1e-6);  // nothing while the rate is zero
}

TEST(Arrivals, TimesNeverGoBack) {
  const arrivals a({{0, 50, 3s}, {50, 7, 2s}, {7, 7, 1s}, {7, 0, 1s}});
  for (std::uint64_t n = 1; n < a.planned(); ++n) EXPECT_LE(a.at(n - 1), a.at(n)) << n;
  EXPECT_LE(a.at(a.planned() - 1), a.length());
}

TEST(Arrivals, AFractionOfACallIsOne) {
  EXPECT_EQ(arrivals({{0.5, 0.5, 1s}}).planned(), 1u);
  EXPECT_EQ(arrivals({{0.1, 0.1, 10s}}).planned(), 1u);
  EXPECT_EQ(arrivals({{0, 0, 10s}}).planned(), 0u);
  EXPECT_EQ(arrivals({{333, 333, 3s}}).planned(), 999u);
}

TEST(Stage, IsARateOrTwoAndATime) {
  const stage steady = parse_stage("100:30s");
  EXPECT_EQ(steady.from_per_s, 100);
  EXPECT_EQ(steady.to_per_s, 100);
  EXPECT_EQ(steady.length, 30s);
  const stage ramp = parse_stage("0:2.5:1m");
  EXPECT_EQ(ramp.from_per_s, 0);
  EXPECT_EQ(ramp.to_per_s, 2.5);
  EXPECT_EQ(ramp.length, 60s);
}

TEST(Stage, RefusesWhatIsNone) {
  for (const char* text :
       {"", "100", ":1s", "100:", "100:5", "-1:1s", "a:1s", "1:b:1s", "1:2:3:1s", "inf:1s"})
    EXPECT_THROW(static_cast<void>(parse_stage(text)), usage_failure) << text;
}

}  // namespace
}  // namespace coracle::tools::load::arrivals_test
