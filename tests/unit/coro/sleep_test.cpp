#include "coracle/coro/sleep.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace coracle::sleep_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

task<> doze(duration d) { co_await sleep_for(d); }
task<> doze_until(time_point t) { co_await sleep_until(t); }

TEST(Sleep, EndsAtItsTimeAndNotBefore) {
  manual_executor on;
  started s(doze(10ms));
  on.advance(10ms - 1ns);
  EXPECT_FALSE(s.ended());
  on.advance(1ns);
  EXPECT_TRUE(s.ended());
}

TEST(Sleep, OfZeroStillSuspendsOnce) {
  manual_executor on;
  started s(doze(0ms));
  EXPECT_FALSE(s.ended());
  on.run();
  EXPECT_TRUE(s.ended());
}

TEST(Sleep, UntilATimeThatHasPassedEndsInTheNextTurn) {
  manual_executor on;
  started s(doze_until(time_point::min()));
  EXPECT_FALSE(s.ended());
  on.run();
  EXPECT_TRUE(s.ended());
}

TEST(Sleep, ForEverDoesNotOverflow) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  started s(doze(duration::max()), e);
  on.advance(1h);
  EXPECT_FALSE(s.ended());
  stop.request_stop();
  on.run();
  EXPECT_TRUE(s.threw<coro::cancelled>());
}

TEST(Sleep, AStopEndsItEarlyButNotOnTheRequestersStack) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  started s(doze(1h), e);
  stop.request_stop();
  EXPECT_FALSE(s.ended());
  on.run();
  EXPECT_TRUE(s.threw<coro::cancelled>());
  EXPECT_TRUE(on.idle());
}

TEST(Sleep, UnderAStopItDoesNotBegin) {
  manual_executor on;
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment e{stop.token()};
  started s(doze(1h), e);
  EXPECT_TRUE(s.threw<coro::cancelled>());
}

TEST(Sleep, AStopAfterItsEndDoesNothing) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  started s(doze(1ms), e);
  on.advance(1ms);
  stop.request_stop();
  on.run();
  EXPECT_FALSE(s.error());
}

TEST(SleepDeathTest, NeedsALoop) { EXPECT_DEATH(started s(doze(1ms)), "this requires a loop"); }

}  // namespace
}  // namespace coracle::sleep_test
