#include "coracle/coro/as_completed.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_any.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::as_completed_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

static_assert(!std::is_aggregate_v<completed<int>> && !std::is_aggregate_v<completed<void>>);

task<int> after(duration d, int n) {
  co_await sleep_for(d);
  co_return n;
}
task<int> fail_after(duration d, const char* reason) {
  co_await sleep_for(d);
  throw std::runtime_error(reason);
}
task<> pause(duration d) { co_await sleep_for(d); }
std::vector<task<int>> falling(int n) {
  std::vector<task<int>> all;
  for (int i = 0; i < n; ++i) all.push_back(after(10ms * (n - i), i));
  return all;
}

task<> drain(std::vector<task<int>> tasks, std::vector<std::string>& to) {
  as_completed<int> c{co_await coro::this_environment(), std::move(tasks)};
  while (auto done = co_await c.next()) {
    std::string line = std::to_string(done->index()) + ":";
    if (done->outcome().ok()) line += std::to_string(done->value());
    else line += done->outcome().cancelled() ? "stopped" : "failed";
    to.push_back(line);
  }
}

TEST(AsCompleted, GivesTheEndsInTheOrderInWhichTheyHappen) {
  manual_executor on;
  std::vector<std::string> got;
  started s(drain(falling(3), got));
  EXPECT_TRUE(got.empty());
  on.advance(10ms);
  EXPECT_EQ(got, std::vector<std::string>{"2:2"});
  on.advance(20ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<std::string>{"2:2", "1:1", "0:0"}));
}

TEST(AsCompleted, GivesNothingForNoTasks) {
  manual_executor on;
  std::vector<std::string> got;
  started s(drain({}, got));
  EXPECT_TRUE(s.ended());
  EXPECT_TRUE(got.empty());
}

TEST(AsCompleted, DoesNotSuspendForWhatHasEndedAlready) {
  manual_executor on;
  auto at_once = [](int n) -> task<int> { co_return n; };
  std::vector<task<int>> all;
  all.push_back(at_once(7));
  all.push_back(at_once(8));
  std::vector<std::string> got;
  started s(drain(std::move(all), got));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<std::string>{"0:7", "1:8"}));
}

TEST(AsCompleted, AnErrorIsAnEndLikeAnyOther) {
  manual_executor on;
  std::vector<task<int>> all;
  all.push_back(after(20ms, 1));
  all.push_back(fail_after(10ms, "no"));
  std::vector<std::string> got;
  started s(drain(std::move(all), got));
  on.advance(20ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<std::string>{"1:failed", "0:1"}));
}

TEST(AsCompleted, ALosingNextLosesNothingAndIsAwaitedAgain) {
  manual_executor on;
  std::vector<int> got;
  int lost = 0;
  auto body = [](std::vector<int>& to, int& lost_races) -> task<> {
    as_completed<int> c{co_await coro::this_environment(), falling(20)};
    auto next = [](as_completed<int>& from) -> task<std::optional<completed<int>>> {
      auto item = co_await from.next();
      co_return item;
    };
    for (bool more = true; more;) {
      // Timers that expire before an end, or in the same turn.
      auto first = co_await when_any(next(c), pause(5ms));
      if (first.index() == 1) ++lost_races;
      if (!first.ok<0>()) continue;
      auto& item = first.get<0>();
      if (item) to.push_back(item->value());
      else more = false;
    }
  };
  started s(body(got, lost));
  for (int i = 0; i < 250; ++i) on.advance(1ms);
  ASSERT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
  ASSERT_EQ(got.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], 19 - i);
  EXPECT_GE(lost, 20);
}

TEST(AsCompleted, AStopOfItsEnvironmentReachesTheTasks) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token(), never, nullptr};
  auto body = [](const coro::environment& given, std::vector<std::string>& to) -> task<> {
    as_completed<int> c{given, falling(2)};
    while (auto done = co_await c.next()) {
      to.push_back(done->outcome().cancelled() ? "stopped" : "ended");
    }
  };
  std::vector<std::string> got;
  started s(body(e, got));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<std::string>{"stopped", "stopped"}));
}

TEST(AsCompleted, IsLeftEarlyByStopAndJoin) {
  manual_executor on;
  auto body = []() -> task<> {
    as_completed<int> c{co_await coro::this_environment(), falling(3)};
    auto first = co_await c.next();
    EXPECT_EQ(first->index(), 2U);
    EXPECT_EQ(c.running(), 2U);
    c.request_stop();
    co_await c.join();
    EXPECT_EQ(c.running(), 0U);
    co_await c.join();
  };
  started s(body());
  on.advance(10ms);
  EXPECT_TRUE(s.ended());
  EXPECT_TRUE(on.idle());
}

TEST(AsCompleted, WorksForVoidAndForValuesThatOnlyMove) {
  manual_executor on;
  auto body = []() -> task<> {
    const coro::environment& here = co_await coro::this_environment();
    auto nothing = []() -> task<> { co_return; };
    std::vector<task<>> voids;
    voids.push_back(nothing());
    as_completed<void> a{here, std::move(voids)};
    auto done = co_await a.next();
    done->value();
    EXPECT_FALSE(co_await a.next());
    auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(4); };
    std::vector<task<std::unique_ptr<int>>> owners;
    owners.push_back(make());
    as_completed<std::unique_ptr<int>> b{here, std::move(owners)};
    auto owned = co_await b.next();
    const std::unique_ptr<int> mine = std::move(*owned).value();
    EXPECT_EQ(*mine, 4);
  };
  started s(body());
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(AsCompletedDeath, DestroyedWithRunningTasksIsADefectOfTheCaller) {
  auto drop = [] {
    manual_executor on;
    const as_completed<int> c{coro::no_environment, falling(1)};
  };
  EXPECT_DEATH(drop(), "join");
}

}  // namespace
}  // namespace coracle::as_completed_test
