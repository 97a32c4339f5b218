#include "runtime/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace coracle::runtime_internal::timer_wheel_test {
namespace {

using namespace std::chrono_literals;

time_point at(duration d) { return time_point(d); }

struct counted : coro::timer {
  counted() {
    fire = [](coro::timer& t) noexcept { ++static_cast<counted&>(t).fired; };
  }
  int fired = 0;
};

TEST(TimerWheel, FiresAtItsTimeAndNotANanosecondBefore) {
  for (duration d : {duration(1), duration(65'535), duration(65'536), duration(4ms), duration(1s),
                     duration(1h), duration(10'000h)}) {
    timer_wheel wheel;
    counted t;
    wheel.arm(t, at(d));
    wheel.advance(at(d - 1ns));
    EXPECT_EQ(t.fired, 0) << d.count();
    wheel.advance(at(d));
    EXPECT_EQ(t.fired, 1) << d.count();
    EXPECT_TRUE(wheel.empty());
  }
}

TEST(TimerWheel, WaitingForItsDeadlinesReachesEveryTimer) {
  timer_wheel wheel;
  counted t;
  wheel.advance(at(123'456'789ns));
  wheel.arm(t, at(10h + 7ns));
  time_point now = at(123'456'789ns);
  int wakes = 0;
  while (t.fired == 0) {
    const time_point next = wheel.next_deadline();
    ASSERT_GE(next, now);
    ASSERT_LE(next, at(10h + 7ns));
    now = next;
    wheel.advance(now);
    ++wakes;
  }
  EXPECT_EQ(now, at(10h + 7ns));
  EXPECT_LE(wakes, 8);
}

TEST(TimerWheel, ATimeThatHasPassedFiresInTheNextAdvance) {
  timer_wheel wheel;
  wheel.advance(at(1h));
  counted t;
  wheel.arm(t, time_point::min());
  EXPECT_LE(wheel.next_deadline(), at(1h));
  wheel.advance(at(1h));
  EXPECT_EQ(t.fired, 1);
}

TEST(TimerWheel, NeverIsATimeLikeAnyOther) {
  timer_wheel wheel;
  counted t;
  wheel.arm(t, never);
  wheel.advance(at(100'000h));
  EXPECT_EQ(t.fired, 0);
  wheel.disarm(t);
  EXPECT_EQ(wheel.next_deadline(), never);
}

TEST(TimerWheel, ArmingAgainMovesIt) {
  timer_wheel wheel;
  counted t;
  wheel.arm(t, at(1s));
  wheel.arm(t, at(1ms));
  wheel.advance(at(1ms));
  EXPECT_EQ(t.fired, 1);
  wheel.advance(at(2s));
  EXPECT_EQ(t.fired, 1);
}

TEST(TimerWheel, DisarmingOneThatIsNotArmedDoesNothing) {
  timer_wheel wheel;
  counted t;
  wheel.disarm(t);
  EXPECT_TRUE(wheel.empty());
}

TEST(TimerWheel, ATimerThatRearmsItselfForNowDoesNotHoldTheLoop) {
  struct again : coro::timer {
    explicit again(timer_wheel& w) : wheel(w) {
      fire = [](coro::timer& t) noexcept {
        auto& self = static_cast<again&>(t);
        ++self.fired;
        self.wheel.arm(self, time_point::min());
      };
    }
    timer_wheel& wheel;
    int fired = 0;
  };
  timer_wheel wheel;
  again t(wheel);
  wheel.arm(t, at(1ms));
  wheel.advance(at(1ms));
  EXPECT_EQ(t.fired, 1);
  wheel.advance(at(1ms));
  EXPECT_EQ(t.fired, 2);
  wheel.disarm(t);
}

TEST(TimerWheel, AFiringTimerMayDisarmAnotherThatIsDue) {
  struct killer : coro::timer {
    killer(timer_wheel& w, counted& v) : wheel(w), victim(v) {
      fire = [](coro::timer& t) noexcept {
        auto& self = static_cast<killer&>(t);
        self.wheel.disarm(self.victim);
      };
    }
    timer_wheel& wheel;
    counted& victim;
  };
  timer_wheel wheel;
  counted victim;
  killer k(wheel, victim);
  wheel.arm(k, at(1ms));
  wheel.arm(victim, at(1ms));
  wheel.advance(at(2ms));
  EXPECT_EQ(victim.fired, 0);
  EXPECT_EQ(victim.holder, nullptr);
}

TEST(TimerWheel, LetsGoOfWhatIsStillArmed) {
  counted t;
  {
    timer_wheel wheel;
    wheel.arm(t, at(1s));
  }
  EXPECT_EQ(t.holder, nullptr);
}

// Random operations, compared with a list that is searched naively.
class naive_comparison : public testing::TestWithParam<std::uint64_t> {
 protected:
  struct both : coro::timer {
    explicit both(naive_comparison& o) : owner(o) {
      fire = [](coro::timer& t) noexcept {
        auto& self = static_cast<both&>(t);
        ++self.fired;
        self.owner.check_fired(self);
      };
    }
    naive_comparison& owner;
    bool expected_armed = false;
    time_point expected{};
    int fired = 0;
  };
  void check_fired(both& t) {
    EXPECT_TRUE(t.expected_armed);
    EXPECT_LE(t.expected, now_);
    t.expected_armed = false;
  }
  duration random_span() {
    const int bits = std::uniform_int_distribution<int>(0, 45)(random_);
    return duration(std::uniform_int_distribution<std::int64_t>(0, std::int64_t{1} << bits)(random_));
  }
  std::mt19937_64 random_{GetParam()};
  time_point now_ = at(1s);
};

TEST_P(naive_comparison, AgreesOverRandomOperations) {
  timer_wheel wheel;
  wheel.advance(now_);
  std::vector<std::unique_ptr<both>> timers;
  for (int i = 0; i < 100; ++i) timers.push_back(std::make_unique<both>(*this));
  for (int step = 0; step < 20'000; ++step) {
    both& t = *timers[std::uniform_int_distribution<std::size_t>(0, timers.size() - 1)(random_)];
    switch (std::uniform_int_distribution<int>(0, 9)(random_)) {
      case 0:
        wheel.disarm(t);
        t.expected_armed = false;
        break;
      case 1: {
        const time_point next = wheel.next_deadline();
        time_point earliest = never;
        for (const auto& u : timers)
          if (u->expected_armed) earliest = std::min(earliest, u->expected);
        ASSERT_LE(next, earliest);
        if (earliest == never) break;
        now_ = std::max(now_, next);
        wheel.advance(now_);
        break;
      }
      case 2:
        now_ += random_span();
        wheel.advance(now_);
        for (const auto& u : timers) {
          ASSERT_FALSE(u->expected_armed && u->expected <= now_);
        }
        break;
      default:
        t.expected = now_ + random_span() - 50us;
        t.expected_armed = true;
        wheel.arm(t, t.expected);
    }
    for (const auto& u : timers) ASSERT_EQ(u->holder != nullptr, u->expected_armed);
  }
  for (const auto& u : timers) wheel.disarm(*u);
  EXPECT_TRUE(wheel.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, naive_comparison, testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace coracle::runtime_internal::timer_wheel_test
