#include "server/admission/admission_control.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace coracle::server_internal::admission_control_test {
namespace {

using namespace std::chrono_literals;
using entry = admission_control::entry;
using verdict = admission_control::verdict;

enum class outcome { none, admitted, rejected, too_late };

struct one_call final : limited_call {
  outcome came_to = outcome::none;
  void admitted() noexcept override { came_to = outcome::admitted; }
  void rejected(bool late) noexcept override { came_to = late ? outcome::too_late : outcome::rejected; }
};

class control : public ::testing::Test {
 protected:
  one_call& make(criticality level = criticality::critical) {
    one_call& c = calls_.emplace_back();
    c.level = level;
    return c;
  }
  // A loop on which 4 calls run.
  std::vector<one_call*> fill() {
    std::vector<one_call*> running;
    for (int i = 0; i < 4; ++i) {
      running.push_back(&make());
      EXPECT_EQ(control_.enter(*running.back(), now_), entry::runs);
    }
    return running;
  }
  // Calls of method 0 that take `latency`, one after the other.
  void run(int n, duration latency, bool ok = true) {
    for (int i = 0; i < n; ++i) {
      one_call& c = make();
      ASSERT_EQ(control_.enter(c, now_), entry::runs);
      now_ += latency;
      control_.ended(c, ok, now_);
    }
  }
  time_point now_{1h};
  std::deque<one_call> calls_;
  admission_control control_{{.min_concurrency = 4, .max_concurrency = 4}, 2, 1};
};

TEST_F(control, CallsUpToTheLimitRunAndFurtherOnesWait) {
  const auto running = fill();
  one_call& fifth = make();
  EXPECT_EQ(control_.enter(fifth, now_), entry::waits);
  EXPECT_EQ(control_.waiting(), 1u);
  control_.advance(now_);
  EXPECT_EQ(fifth.came_to, outcome::none);
  control_.ended(*running[0], true, now_ += 5ms);
  EXPECT_EQ(control_.next_event(now_), now_);
  control_.advance(now_);
  EXPECT_EQ(fifth.came_to, outcome::admitted);
  EXPECT_EQ(control_.running(), 4u);
}

TEST_F(control, ACallThatWaitsForTooLongIsRejected) {
  fill();
  one_call& fifth = make();
  EXPECT_EQ(control_.enter(fifth, now_), entry::waits);
  // advance() comes whenever next_event() says.
  for (int i = 0; i < 20 && fifth.came_to == outcome::none; ++i) {
    ASSERT_LT(control_.next_event(now_), never);
    now_ = control_.next_event(now_);
    control_.advance(now_);
  }
  EXPECT_EQ(fifth.came_to, outcome::rejected);
  EXPECT_EQ(now_, time_point(1h + 100ms));
  EXPECT_EQ(control_.next_event(now_), never);
}

TEST_F(control, AFullLineIsOverloadForCallsThatAreNotMoreCritical) {
  fill();
  for (std::size_t i = 0; i < waiting_line::calls_max; ++i)
    EXPECT_EQ(control_.enter(make(criticality::sheddable), now_), entry::waits);
  EXPECT_EQ(control_.check(0, criticality::sheddable, 0, never, now_), verdict::overloaded);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, never, now_), verdict::permitted);
  one_call& least = calls_[4];
  EXPECT_EQ(control_.enter(make(criticality::sheddable), now_), entry::rejected);
  EXPECT_EQ(control_.enter(make(criticality::critical), now_), entry::waits);
  EXPECT_EQ(least.came_to, outcome::rejected);
}

TEST_F(control, ACallThatCouldNotEndInTimeIsTooLate) {
  run(300, 50ms);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 100ms, now_), verdict::permitted);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::tried) << "a try";
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::too_late);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, never, now_), verdict::permitted);
  EXPECT_EQ(control_.check(1, criticality::critical, 0, now_ + 20ms, now_), verdict::permitted)
      << "another method";
}

TEST_F(control, AMethodThatIsFastAgainIsNoticedByTries) {
  run(300, 50ms);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::tried);
  int tries = 0;
  while (control_.check(0, criticality::critical, 0, now_ + 20ms, now_) == verdict::too_late) {
    now_ += 100ms;
    ASSERT_NE(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::too_late);
    run(1, 1ms);
    ASSERT_LT(++tries, 30);
  }
}

// Each try may be cancelled, or fail, before it has a latency.
TEST_F(control, TriesWithoutALatencyDoNotRejectAMethodForEver) {
  run(300, 50ms);
  int tries = 0;
  while (control_.check(0, criticality::critical, 0, now_ + 20ms, now_) != verdict::permitted) {
    now_ += 100ms;
    ASSERT_LT(++tries, 150);
  }
}

TEST_F(control, FailuresAreNoLatencyOfAMethodThatIsNotKnown) {
  run(300, 50ms, false);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 1ms, now_), verdict::permitted);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 1ms, now_), verdict::permitted);
}

TEST_F(control, NoCallIsTooLateBeforeTheMethodIsKnown) {
  run(99, 50ms);
  now_ += 1s;
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 1ms, now_), verdict::permitted);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 1ms, now_), verdict::permitted);
}

TEST_F(control, FastErrorsDoNotMakeAMethodSeemFast) {
  run(300, 50ms);
  run(300, 1us, false);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::tried) << "a try";
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::too_late);
}

TEST_F(control, ACallThatHasWaitedUntilItIsTooLateIsNotBegun) {
  run(300, 50ms);
  EXPECT_EQ(control_.check(0, criticality::critical, 0, now_ + 20ms, now_), verdict::tried) << "a try";
  const auto running = fill();
  one_call& fifth = make();
  fifth.deadline = now_ + 60ms;
  EXPECT_EQ(control_.enter(fifth, now_), entry::waits);
  control_.ended(*running[0], true, now_ += 30ms);
  control_.advance(now_);
  EXPECT_EQ(fifth.came_to, outcome::too_late);
}

TEST_F(control, ACallThatGivesUpLeavesTheLine) {
  const auto running = fill();
  one_call& fifth = make();
  EXPECT_EQ(control_.enter(fifth, now_), entry::waits);
  control_.gave_up(fifth);
  EXPECT_EQ(control_.waiting(), 0u);
  control_.ended(*running[0], true, now_ += 5ms);
  control_.advance(now_);
  EXPECT_EQ(fifth.came_to, outcome::none);
}

}  // namespace
}  // namespace coracle::server_internal::admission_control_test
