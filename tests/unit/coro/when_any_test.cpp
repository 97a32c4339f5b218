#include "coracle/coro/when_any.hpp"

#include "coracle/coro/sleep.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <exception>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::when_any_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

// A wait that no stop ends.
struct gate {
  std::coroutine_handle<> waiter;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept { waiter = h; }
  void await_resume() const noexcept {}
};

task<int> after(duration d, int n) {
  co_await sleep_for(d);
  co_return n;
}
task<std::string> text_after(duration d) {
  co_await sleep_for(d);
  co_return "text";
}
task<> pause(duration d) { co_await sleep_for(d); }
task<> at_once() { co_return; }
task<int> fail_after(duration d, const char* reason) {
  co_await sleep_for(d);
  throw std::runtime_error(reason);
}
task<int> ends_well_though_stopped(gate& g) {
  co_await g;
  co_return 9;
}
task<int> notes(std::vector<std::string>& log, const char* name) {
  log.push_back(name);
  co_return 1;
}
task<int> fails_when_stopped() {
  try {
    co_await sleep_for(1h);
  } catch (const coro::cancelled&) {
    throw std::logic_error("a loser's own");
  }
  co_return 0;
}

TEST(WhenAny, SaysWhichEndedFirstAndItsValue) {
  manual_executor on;
  std::string got;
  auto body = [](std::string& g) -> task<> {
    auto first = co_await when_any(after(20ms, 1), text_after(10ms), pause(30ms));
    EXPECT_EQ(first.index(), 1U);
    EXPECT_FALSE(first.ok<0>());
    EXPECT_FALSE(first.ok<2>());
    EXPECT_THROW((void)first.get<0>(), coro::cancelled);
    g = first.get<1>();
  };
  started s(body(got));
  EXPECT_FALSE(s.ended());
  on.advance(10ms);
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
  EXPECT_EQ(got, "text");
  EXPECT_TRUE(on.idle()) << "the losers were stopped";
}

TEST(WhenAny, AVoidTaskMayWin) {
  manual_executor on;
  auto body = []() -> task<> {
    auto first = co_await when_any(after(1h, 1), pause(1ms));
    EXPECT_EQ(first.index(), 1U);
    first.get<1>();
  };
  started s(body());
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(WhenAny, WaitsForTheLosersToEnd) {
  manual_executor on;
  gate g;
  auto body = [](gate& held) -> task<> {
    auto first = co_await when_any(ends_well_though_stopped(held), pause(1ms));
    EXPECT_EQ(first.index(), 1U);
    EXPECT_TRUE(first.ok<0>()) << "a loser that ended well keeps its value";
    EXPECT_EQ(first.get<0>(), 9);
  };
  started s(body(g));
  on.advance(1ms);
  EXPECT_FALSE(s.ended());
  g.waiter.resume();
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(WhenAny, ATaskThatEndsAtOnceKeepsThoseAfterItFromStarting) {
  manual_executor on;
  std::vector<std::string> log;
  auto body = [](std::vector<std::string>& l) -> task<> {
    auto first = co_await when_any(after(1h, 0), notes(l, "left"), notes(l, "right"));
    EXPECT_EQ(first.index(), 1U);
    EXPECT_TRUE(std::get<2>(first.outcomes()).cancelled());
  };
  started s(body(log));
  on.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(log, std::vector<std::string>{"left"});
}

TEST(WhenAny, DoesNotSuspendWhenTheFirstEndsAtOnce) {
  manual_executor on;
  auto body = []() -> task<> { co_await when_any(at_once(), pause(1h)); };
  started s(body());
  EXPECT_TRUE(s.ended());
  EXPECT_TRUE(on.idle());
}

TEST(WhenAny, RethrowsTheWinnersExceptionAfterTheLosersHaveEnded) {
  manual_executor on;
  gate g;
  auto body = [](gate& held) -> task<> {
    co_await when_any(fail_after(1ms, "winner"), ends_well_though_stopped(held));
  };
  started s(body(g));
  on.advance(1ms);
  EXPECT_FALSE(s.ended());
  g.waiter.resume();
  ASSERT_TRUE(s.ended());
  EXPECT_TRUE(s.threw<std::runtime_error>());
}

TEST(WhenAny, DropsWhatALoserThrowsUnlessAsked) {
  manual_executor on;
  auto body = []() -> task<> {
    auto first = co_await when_any(after(1ms, 4), fails_when_stopped());
    EXPECT_EQ(first.get<0>(), 4);
    EXPECT_THROW((void)first.get<1>(), std::logic_error);
  };
  started s(body());
  on.advance(1ms);
  ASSERT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(WhenAny, SettledKeepsALosersValueBesideTheWinnersException) {
  manual_executor on;
  gate g;
  auto body = [](gate& held) -> task<> {
    auto first = co_await when_any_settled(fail_after(1ms, "winner"), ends_well_though_stopped(held));
    EXPECT_EQ(first.index(), 0U);
    EXPECT_THROW((void)first.get<0>(), std::runtime_error);
    EXPECT_EQ(first.get<1>(), 9);
  };
  started s(body(g));
  on.advance(1ms);
  g.waiter.resume();
  ASSERT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(WhenAny, AStopOfTheEnvironmentStopsAllAndComesOutAsCancelled) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token(), never, nullptr};
  auto body = []() -> task<> { co_await when_any(pause(1h), after(1h, 1)); };
  started s(body(), e);
  on.run();
  EXPECT_FALSE(s.ended());
  stop.request_stop();
  on.run();
  ASSERT_TRUE(s.ended());
  EXPECT_TRUE(s.threw<coro::cancelled>());
  EXPECT_TRUE(on.idle());
}

TEST(WhenAny, TheStopOfTheLosersDoesNotReachTheAwaiter) {
  manual_executor on;
  auto body = []() -> task<> {
    co_await when_any(pause(1ms), pause(1h));
    const coro::environment& here = co_await coro::this_environment();
    EXPECT_FALSE(here.stop.stop_requested());
    co_await sleep_for(1ms);
  };
  started s(body());
  on.advance(1ms);
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(WhenAny, NestsAndPassesTheStopDown) {
  manual_executor on;
  auto inner = []() -> task<> { co_await when_any(pause(1h), pause(2h)); };
  auto body = [](task<> nested) -> task<> {
    auto first = co_await when_any(std::move(nested), pause(1ms));
    EXPECT_EQ(first.index(), 1U);
  };
  started s(body(inner()));
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
  EXPECT_TRUE(on.idle());
}

TEST(WhenAny, OfARangeGivesTheIndexAndTheValue) {
  manual_executor on;
  auto body = []() -> task<> {
    std::vector<task<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(after(1ms * (5 - i), i));
    auto first = co_await when_any(std::move(all));
    EXPECT_EQ(first.index(), 4U);
    EXPECT_EQ(first.value(), 4);
    EXPECT_EQ(first.outcomes().size(), 5U);
    EXPECT_TRUE(first.outcomes()[0].cancelled());
  };
  started s(body());
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
  EXPECT_TRUE(on.idle());
}

TEST(WhenAny, OfARangeRethrowsTheWinnersExceptionUnlessSettled) {
  manual_executor on;
  auto body = [](bool& thrown) -> task<> {
    std::vector<task<int>> all;
    all.push_back(after(1h, 0));
    all.push_back(fail_after(1ms, "winner"));
    try {
      co_await when_any(std::move(all));
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    std::vector<task<int>> again;
    again.push_back(fail_after(1ms, "winner"));
    auto first = co_await when_any_settled(std::move(again));
    EXPECT_THROW((void)first.value(), std::runtime_error);
  };
  bool thrown = false;
  started s(body(thrown));
  on.advance(1ms);
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
  EXPECT_TRUE(thrown);
}

TEST(WhenAny, OfAnEmptyRangeIsADefectOfTheCaller) {
  auto race_nobody = [] { (void)when_any(std::vector<task<int>>()); };
  test::expect_misuse(race_nobody, "no tasks");
}

TEST(WhenAny, OfATaskThatWasMovedFromThrows) {
  const std::string fix = "move each task in once";
  task<> t = at_once();
  const task<> moved_to = std::move(t);
  test::expect_misuse([&] { (void)when_any(at_once(), std::move(t)); }, fix);
  test::expect_misuse([&] { (void)when_any_settled(std::move(t), pause(1h)); }, fix);
  std::vector<task<>> all;
  all.push_back(at_once());
  all.emplace_back();
  test::expect_misuse([&] { (void)when_any(std::move(all)); }, fix);
}

TEST(WhenAny, OfATaskThatHasEndedThrowsAndStartsNothing) {
  manual_executor on;
  std::vector<std::string> log;
  auto body = [](std::vector<std::string>& l) -> task<> {
    task<> once = at_once();
    co_await std::move(once);
    task<int> other = notes(l, "other");
    co_await when_any(std::move(other), std::move(once));
  };
  started s(body(log));
  ASSERT_TRUE(s.ended());
  EXPECT_THROW(std::rethrow_exception(s.error()), usage_error);
  EXPECT_TRUE(log.empty());
}

}  // namespace
}  // namespace coracle::when_any_test
