#include "server/admission/waiting_line.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace coracle::server_internal {
namespace {

using namespace std::chrono_literals;

struct waiting_call final : limited_call {
  explicit waiting_call(criticality c = criticality::critical) { level = c; }
  void admitted() noexcept override {}
  void rejected(bool) noexcept override {}
};

class the_line : public ::testing::Test {
 protected:
  waiting_call& come(duration at, criticality level = criticality::critical) {
    waiting_call& c = calls_.emplace_back(level);
    EXPECT_TRUE(line_.has_room(level, time(at)));
    EXPECT_EQ(line_.push(c, time(at)), nullptr);
    return c;
  }
  static time_point time(duration d) { return time_point(1h + d); }
  // Keeps the line from being empty until it is pressed, with calls that come every 5 ms.
  void press() {
    for (duration t = 0ms; t < 100ms; t += 5ms) come(t);
    ASSERT_TRUE(line_.is_pressed(time(100ms)));
    while (line_.take_expired(time(100ms))) {
    }
  }
  std::deque<waiting_call> calls_;
  waiting_line line_;
};

TEST_F(the_line, CallsLeaveInTheOrderInWhichTheyCame) {
  waiting_call& first = come(0ms);
  waiting_call& second = come(1ms);
  EXPECT_EQ(line_.take(time(2ms)), &first);
  EXPECT_EQ(line_.take(time(2ms)), &second);
  EXPECT_EQ(line_.take(time(2ms)), nullptr);
  EXPECT_TRUE(line_.empty());
}

TEST_F(the_line, ACalmLineLetsCallsWaitForItsPatience) {
  waiting_call& first = come(0ms);
  EXPECT_EQ(line_.take_expired(time(99ms)), nullptr);
  EXPECT_LE(line_.next_expiry(), time(100ms));
  EXPECT_EQ(line_.take_expired(time(100ms)), &first);
}

TEST_F(the_line, APressedLineRejectsSoonAndServesTheNewestFirst) {
  press();
  EXPECT_EQ(line_.size(), 1u) << "that of the last 10 ms";
  come(103ms);
  waiting_call& newest = come(104ms);
  EXPECT_EQ(line_.take(time(104ms)), &newest);
  EXPECT_NE(line_.take_expired(time(106ms)), nullptr) << "that of 95 ms";
}

TEST_F(the_line, APressedLineIsCalmOnceItIsEmpty) {
  press();
  while (line_.take(time(101ms))) {
  }
  EXPECT_FALSE(line_.is_pressed(time(101ms)));
  waiting_call& first = come(102ms);
  come(103ms);
  EXPECT_EQ(line_.take(time(104ms)), &first);
}

TEST_F(the_line, HigherCriticalityLeavesFirst) {
  come(0ms, criticality::sheddable);
  waiting_call& plus = come(1ms, criticality::critical_plus);
  waiting_call& usual = come(2ms);
  EXPECT_EQ(line_.take(time(3ms)), &plus);
  EXPECT_EQ(line_.take(time(3ms)), &usual);
}

TEST_F(the_line, AFullLineGivesThePlaceOfTheLeastCriticalToAMoreCriticalCall) {
  waiting_call& least = come(0ms, criticality::sheddable);
  for (std::size_t i = 1; i < waiting_line::calls_max; ++i) come(1ms, criticality::sheddable_plus);
  EXPECT_FALSE(line_.has_room(criticality::sheddable, time(2ms)));
  EXPECT_TRUE(line_.has_room(criticality::critical, time(2ms)));
  waiting_call more(criticality::critical);
  EXPECT_EQ(line_.push(more, time(2ms)), &least);
  EXPECT_EQ(line_.size(), waiting_line::calls_max);
  EXPECT_FALSE(line_.has_room(criticality::sheddable_plus, time(2ms)));
  line_.remove(more);
}

TEST_F(the_line, APressedLineIsAsLongAsWhatLeavesItInTime) {
  press();
  duration now = 100ms;
  // 2 calls leave in each ms.
  for (int i = 0; i < 200; ++i, now += 500us) {
    if (line_.has_room(criticality::critical, time(now))) come(now);
    if (line_.has_room(criticality::critical, time(now))) come(now);
    while (line_.take_expired(time(now))) {
    }
    if (line_.size() > 1) {
      EXPECT_NE(line_.take(time(now)), nullptr);
    }
  }
  while (line_.has_room(criticality::critical, time(now))) come(now);
  EXPECT_GE(line_.size(), waiting_line::pressed_calls_min);
  EXPECT_LE(line_.size(), 20u) << "as many as leave in 10 ms";
}

TEST_F(the_line, ACallLeavesFromTheMiddle) {
  waiting_call& first = come(0ms);
  waiting_call& second = come(1ms);
  waiting_call& third = come(2ms);
  line_.remove(second);
  EXPECT_EQ(line_.size(), 2u);
  EXPECT_EQ(line_.take(time(3ms)), &first);
  EXPECT_EQ(line_.take(time(3ms)), &third);
}

}  // namespace
}  // namespace coracle::server_internal
