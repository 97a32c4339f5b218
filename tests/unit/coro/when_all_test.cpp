#include "coracle/coro/when_all.hpp"

#include "coracle/coro/sleep.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::when_all_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

task<int> after(duration d, int n) {
  co_await sleep_for(d);
  co_return n;
}
task<std::string> at_once() { co_return "now"; }
task<> nothing() { co_return; }
task<int> fail_after(duration d, const char* reason) {
  co_await sleep_for(d);
  throw std::runtime_error(reason);
}

TEST(WhenAll, GivesTheValuesInTheOrderOfItsArguments) {
  manual_executor on;
  std::tuple<int, std::string, coro::nothing> got;
  auto body = [](auto& g) -> task<> { g = co_await when_all(after(10ms, 1), at_once(), nothing()); };
  started s(body(got));
  EXPECT_FALSE(s.ended());
  on.advance(10ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(std::get<0>(got), 1);
  EXPECT_EQ(std::get<1>(got), "now");
}

TEST(WhenAll, RunsItsTasksBesideEachOther) {
  manual_executor on;
  auto body = []() -> task<> { co_await when_all(after(10ms, 1), after(10ms, 2), after(10ms, 3)); };
  started s(body());
  on.advance(10ms);
  EXPECT_TRUE(s.ended());
}

TEST(WhenAll, DoesNotSuspendWhenEverythingEndsAtOnce) {
  manual_executor on;
  auto body = []() -> task<> { co_await when_all(at_once(), nothing()); };
  started s(body());
  EXPECT_TRUE(s.ended());
}

TEST(WhenAll, RethrowsTheFirstInArgumentOrderAfterAllHaveEnded) {
  manual_executor on;
  std::string caught;
  auto body = [](std::string& c) -> task<> {
    try {
      co_await when_all(fail_after(20ms, "left"), fail_after(10ms, "right"));
    } catch (const std::runtime_error& e) {
      c = e.what();
    }
  };
  started s(body(caught));
  on.advance(10ms);
  EXPECT_FALSE(s.ended());
  on.advance(10ms);
  EXPECT_EQ(caught, "left");
}

TEST(WhenAll, TakesARangeOfTasks) {
  manual_executor on;
  std::vector<int> got;
  auto body = [](std::vector<int>& g) -> task<> {
    std::vector<task<int>> tasks;
    for (int i = 0; i < 5; ++i) tasks.push_back(after((5 - i) * 1ms, i));
    g = co_await when_all(std::move(tasks));
  };
  started s(body(got));
  on.advance(1ms);
  EXPECT_FALSE(s.ended());
  on.advance(4ms);
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WhenAll, AnEmptyRangeIsDoneAtOnce) {
  manual_executor on;
  auto body = []() -> task<> {
    std::vector<task<>> none;
    co_await when_all(std::move(none));
  };
  started s(body());
  EXPECT_TRUE(s.ended());
}

TEST(WhenAll, DestroysTasksThatItNeverStarted) {
  auto watched = std::make_shared<int>(1);
  auto holds = [](std::shared_ptr<int>) -> task<> { co_return; };
  {
    auto never_awaited = when_all(holds(watched), holds(watched));
  }
  EXPECT_EQ(watched.use_count(), 1);
  {
    std::vector<task<>> tasks;
    tasks.push_back(holds(watched));
    auto never_awaited = when_all(std::move(tasks));
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(WhenAll, OfATaskThatWasMovedFromThrowsAndDestroysTheOthers) {
  auto watched = std::make_shared<int>(1);
  auto holds = [](std::shared_ptr<int>) -> task<> { co_return; };
  task<> t = holds(watched);
  {
    const task<> moved_to = std::move(t);
  }
  test::expect_misuse([&] { (void)when_all(holds(watched), std::move(t)); }, "move each task in once");
  std::vector<task<>> tasks;
  tasks.push_back(holds(watched));
  tasks.emplace_back();
  test::expect_misuse([&] { (void)when_all(std::move(tasks)); }, "move each task in once");
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(WhenAll, OfATaskThatHasEndedThrows) {
  auto body = []() -> task<> {
    task<> once = nothing();
    co_await std::move(once);
    co_await when_all(std::move(once));
  };
  manual_executor on;
  started s(body());
  ASSERT_TRUE(s.ended());
  EXPECT_THROW(std::rethrow_exception(s.error()), usage_error);
}

}  // namespace
}  // namespace coracle::when_all_test
