#include "client/connecting/backoff.hpp"

#include <gtest/gtest.h>

namespace coracle::client::backoff_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t no_jitter = 5'000;  // the middle of what next() draws from

TEST(Backoff, GrowsByItsFactorUpToTheLongestPause) {
  backoff b;
  EXPECT_EQ(b.next(no_jitter), 1s);
  EXPECT_EQ(b.next(no_jitter), 1600ms);
  EXPECT_EQ(b.next(no_jitter), 2560ms);
  for (int i = 0; i < 20; ++i) b.next(no_jitter);
  EXPECT_EQ(b.next(no_jitter), 120s);
}

TEST(Backoff, SpreadsClientsByAFifthEachWay) {
  for (std::uint64_t r = 0; r < 20'000; r += 7) {
    const duration pause = backoff().next(r);
    EXPECT_GE(pause, 800ms);
    EXPECT_LE(pause, 1200ms);
  }
  EXPECT_EQ(backoff().next(0), 800ms);
  EXPECT_EQ(backoff().next(10'000), 1200ms);
}

TEST(Backoff, IsResetByAConnectionThatStayedUpForTheSettledTime) {
  backoff b;
  for (int i = 0; i < 20; ++i) b.next(no_jitter);
  EXPECT_EQ(b.lost(stable_time, no_jitter), 0s);
  EXPECT_EQ(b.next(no_jitter), 1s);
}

TEST(Backoff, GrowsWithEachShortConnectionButTheFirst) {
  backoff b;
  EXPECT_EQ(b.lost(10ms, no_jitter), 0s) << "one is forgiven";
  EXPECT_EQ(b.lost(10ms, no_jitter), 1s);
  EXPECT_EQ(b.lost(10ms, no_jitter), 1600ms);
  EXPECT_EQ(b.next(no_jitter), 2560ms) << "a failed attempt counts on";
  for (int i = 0; i < 20; ++i) b.lost(stable_time - 1ms, no_jitter);
  EXPECT_EQ(b.lost(stable_time, no_jitter), 0s);
  EXPECT_EQ(b.lost(10ms, no_jitter), 0s) << "and then one is forgiven again";
  EXPECT_EQ(b.lost(10ms, no_jitter), 1s);
}

// Its server closes each connection after 5 s, for example because of max_connection_age.
TEST(Backoff, IsResetByAConnectionThatStayedUpForLongerThanThePause) {
  backoff b;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(b.lost(5s, no_jitter), 0s);
  EXPECT_EQ(b.next(no_jitter), 1s);
}

}  // namespace
}  // namespace coracle::client::backoff_test
