#include "server/admission/waiting_line.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace coracle::server_internal::waiting_line_test {
namespace {

using namespace std::chrono_literals;

struct waiting_call final : limited_call {
  explicit waiting_call(criticality c = criticality::critical, std::uint64_t of = 0) {
    level = c;
    client = of;
  }
  void admitted() noexcept override {}
  void rejected(bool) noexcept override {}
};

class the_line : public ::testing::Test {
 protected:
  waiting_call& come(duration at, criticality level = criticality::critical, std::uint64_t client = 0) {
    waiting_call& c = calls_.emplace_back(level, client);
    EXPECT_TRUE(line_.has_room(level, client, time(at)));
    EXPECT_EQ(line_.push(c, time(at)), nullptr);
    return c;
  }
  // Whether a call of client 0 would be kept.
  [[nodiscard]] bool has_room(criticality level, duration at) const {
    return line_.has_room(level, 0, time(at));
  }
  static time_point time(duration d) { return time_point(1h + d); }
  // Keeps the line from being empty until it is pressed, with calls that come every 4 ms.
  void press() {
    for (duration t = 0ms; t < 100ms; t += 4ms) come(t);
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
  EXPECT_LE(line_.next_expiry(time(99ms)), time(100ms));
  EXPECT_EQ(line_.take_expired(time(100ms)), &first);
}

TEST_F(the_line, APressedLineRejectsSoonAndServesTheNewestFirst) {
  press();
  EXPECT_EQ(line_.size(), 1u) << "that of the last 5 ms";
  come(100ms);
  waiting_call& newest = come(100ms);
  EXPECT_EQ(line_.take(time(100ms)), &newest);
  EXPECT_NE(line_.take_expired(time(101ms)), nullptr) << "that of 96 ms";
}

TEST_F(the_line, APressedLineIsCalmOnceItIsMostlyEmpty) {
  press();
  while (line_.take(time(101ms))) {
  }
  come(102ms);
  waiting_call& newest = come(103ms);
  EXPECT_EQ(line_.next_expiry(time(103ms)), time(107ms));
  EXPECT_EQ(line_.take(time(104ms)), &newest);
  EXPECT_NE(line_.take(time(104ms)), nullptr);
  waiting_call& first = come(205ms);
  come(206ms);
  EXPECT_FALSE(line_.is_pressed(time(206ms)));
  EXPECT_EQ(line_.take(time(207ms)), &first);
}

// The calls that run end together, each 20 ms, and more calls come than have places.
TEST_F(the_line, APressedLineStaysSoThoughEachBatchOfPlacesEmptiesIt) {
  press();
  while (line_.take(time(101ms))) {
  }
  for (duration batch = 101ms; batch < 1s; batch += 20ms) {
    for (duration t = batch + 6ms; t < batch + 20ms; t += 1ms) {
      if (has_room(criticality::critical, t)) come(t);
      while (line_.take_expired(time(t))) {
      }
    }
    EXPECT_TRUE(line_.is_pressed(time(batch + 19ms)));
    while (line_.take(time(batch + 20ms))) {
    }
  }
}

// Half of the time without a call that waits is no pressure.
TEST_F(the_line, BurstsThatEndSoonDoNotPressIt) {
  for (duration batch = 0ms; batch < 1s; batch += 20ms) {
    for (duration t = batch; t < batch + 9ms; t += 1ms) come(t);
    EXPECT_FALSE(line_.is_pressed(time(batch + 9ms)));
    while (line_.take(time(batch + 9ms))) {
    }
  }
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
  EXPECT_FALSE(has_room(criticality::sheddable, 2ms));
  EXPECT_TRUE(has_room(criticality::critical, 2ms));
  waiting_call more(criticality::critical);
  EXPECT_EQ(line_.push(more, time(2ms)), &least);
  EXPECT_EQ(line_.size(), waiting_line::calls_max);
  EXPECT_FALSE(has_room(criticality::sheddable_plus, 2ms));
  line_.remove(more);
}

TEST_F(the_line, APressedLineIsAsLongAsWhatLeavesItInTime) {
  press();
  duration now = 100ms;
  // 2 calls leave in each ms.
  for (int i = 0; i < 200; ++i, now += 500us) {
    if (has_room(criticality::critical, now)) come(now);
    if (has_room(criticality::critical, now)) come(now);
    while (line_.take_expired(time(now))) {
    }
    if (line_.size() > 1) {
      EXPECT_NE(line_.take(time(now)), nullptr);
    }
  }
  while (has_room(criticality::critical, now)) come(now);
  EXPECT_GE(line_.size(), waiting_line::pressed_calls_min);
  EXPECT_LE(line_.size(), 10u) << "as many as leave in 5 ms";
}

TEST_F(the_line, ClientsTakeTurns) {
  waiting_call& greedy = come(0ms, criticality::critical, 1);
  waiting_call& greedy_again = come(0ms, criticality::critical, 1);
  come(0ms, criticality::critical, 1);
  waiting_call& modest = come(1ms, criticality::critical, 2);
  EXPECT_EQ(line_.take(time(2ms)), &greedy);
  EXPECT_EQ(line_.take(time(2ms)), &modest);
  EXPECT_EQ(line_.take(time(2ms)), &greedy_again);
}

TEST_F(the_line, CriticalityComesBeforeTurns) {
  come(0ms, criticality::sheddable, 2);
  waiting_call& first = come(1ms, criticality::critical, 1);
  waiting_call& second = come(1ms, criticality::critical, 1);
  EXPECT_EQ(line_.take(time(2ms)), &first);
  EXPECT_EQ(line_.take(time(2ms)), &second);
}

TEST_F(the_line, AFullLineGivesAPlaceOfTheClientWithMostToOneWithFewer) {
  waiting_call& first = come(0ms, criticality::critical, 1);
  for (std::size_t i = 1; i < waiting_line::calls_max - 2; ++i) come(1ms, criticality::critical, 1);
  for (int i = 0; i < 2; ++i) come(1ms, criticality::critical, 2);
  EXPECT_FALSE(line_.has_room(criticality::critical, 1, time(2ms))) << "the greedy client";
  EXPECT_TRUE(line_.has_room(criticality::critical, 2, time(2ms)));
  EXPECT_TRUE(line_.has_room(criticality::critical, 3, time(2ms)));
  EXPECT_FALSE(line_.has_room(criticality::sheddable, 3, time(2ms)));
  waiting_call third(criticality::critical, 3);
  EXPECT_EQ(line_.push(third, time(2ms)), &first) << "the oldest";
  EXPECT_EQ(line_.size(), waiting_line::calls_max);
  line_.remove(third);
}

TEST_F(the_line, ClientsWithAsMuchDoNotTakePlacesOfEachOther) {
  for (std::size_t i = 0; i < waiting_line::calls_max; ++i) come(1ms, criticality::critical, 1 + i % 4);
  for (std::uint64_t client = 1; client <= 4; ++client)
    EXPECT_FALSE(line_.has_room(criticality::critical, client, time(2ms)));
}

// Without this, as many clients as places would keep all others out.
TEST_F(the_line, AClientWithoutACallFindsAPlaceBeyondTheLast) {
  constexpr duration now = 200ms;
  come(0ms, criticality::critical, 1);
  std::uint64_t client = 2;
  for (; client <= waiting_line::pressed_calls_min; ++client) come(now, criticality::critical, client);
  const std::size_t full = line_.size();
  EXPECT_FALSE(line_.has_room(criticality::critical, 2, time(now)));
  come(now, criticality::critical, client);
  EXPECT_EQ(line_.size(), full + 1);
  EXPECT_FALSE(line_.has_room(criticality::sheddable, client + 1, time(now))) << "it could not leave in time";
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
}  // namespace coracle::server_internal::waiting_line_test
