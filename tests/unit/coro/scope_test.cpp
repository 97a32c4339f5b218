#include "coracle/coro/scope.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

namespace coracle::scope_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

task<> push_after(std::vector<int>& to, int n, duration d) {
  co_await sleep_for(d);
  to.push_back(n);
}

task<> sleep_until_stopped(int& stopped) {
  try {
    co_await sleep_for(1h);
  } catch (const coro::cancelled&) {
    ++stopped;
    throw;
  }
}

TEST(Scope, JoinWaitsForEveryTask) {
  manual_executor on;
  std::vector<int> ended;
  auto body = [](std::vector<int>& e) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn(push_after(e, 2, 20ms));
    work.spawn(push_after(e, 1, 10ms));
    EXPECT_EQ(work.running(), 2u);
    co_await work.join();
    EXPECT_EQ(work.running(), 0u);
    e.push_back(3);
  };
  started s(body(ended));
  on.advance(10ms);
  EXPECT_EQ(ended, std::vector<int>{1});
  on.advance(10ms);
  EXPECT_EQ(ended, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(s.ended());
}

TEST(Scope, JoiningAnEmptyScopeDoesNotSuspend) {
  manual_executor on;
  auto body = []() -> task<> {
    scope work;
    co_await work.join();
  };
  started s(body());
  EXPECT_TRUE(s.ended());
}

TEST(Scope, SpawnStartsTheTaskAtOnce) {
  manual_executor on;
  bool ran = false;
  auto child = [](bool& r) -> task<> {
    r = true;
    co_return;
  };
  scope work;
  work.spawn(child(ran));
  EXPECT_TRUE(ran);
  EXPECT_EQ(work.running(), 0u);
}

TEST(Scope, TheFirstExceptionStopsTheOthersAndComesOutOfJoin) {
  manual_executor on;
  int stopped = 0;
  auto failing = []() -> task<> {
    co_await sleep_for(10ms);
    throw std::runtime_error("first");
  };
  auto body = [](auto fail, int& n) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn(sleep_until_stopped(n));
    work.spawn(fail());
    work.spawn(sleep_until_stopped(n));
    co_await work.join();
  };
  started s(body(failing, stopped));
  on.advance(10ms);
  EXPECT_EQ(stopped, 2);
  EXPECT_TRUE(s.threw<std::runtime_error>());
}

TEST(Scope, AStopFromOutsideReachesItsTasks) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  int stopped = 0;
  auto body = [](int& n) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn(sleep_until_stopped(n));
    co_await work.join();
  };
  started s(body(stopped), e);
  stop.request_stop();
  EXPECT_EQ(stopped, 0) << "nobody is resumed on the requester's stack";
  on.run();
  EXPECT_EQ(stopped, 1);
  EXPECT_TRUE(s.threw<coro::cancelled>());
}

TEST(Scope, ItsOwnStopDoesNotReachOutside) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  int stopped = 0;
  scope work(e);
  work.spawn(sleep_until_stopped(stopped));
  work.request_stop();
  on.run();
  EXPECT_EQ(stopped, 1);
  EXPECT_FALSE(stop.stop_requested());
}

TEST(Scope, WhatItStoppedItselfIsNoErrorOfJoin) {
  manual_executor on;
  auto body = [](bool breaks, int& stopped) -> task<> {
    scope work;
    work.spawn(sleep_until_stopped(stopped));
    auto breaks_when_stopped = [](int& n) -> task<> {
      try {
        co_await sleep_until_stopped(n);
      } catch (const coro::cancelled&) {
        throw std::runtime_error("broke on its way out");
      }
    };
    if (breaks) work.spawn(breaks_when_stopped(stopped));
    work.request_stop();
    co_await work.join();
    ++stopped;
  };
  int stopped_well = 0;
  int stopped_badly = 0;
  const started well(body(false, stopped_well));
  const started badly(body(true, stopped_badly));
  on.run();
  EXPECT_TRUE(well.ended() && !well.error());
  EXPECT_EQ(stopped_well, 2);
  EXPECT_EQ(stopped_badly, 2);
  EXPECT_TRUE(badly.threw<std::runtime_error>());
}

TEST(Scope, ATaskMaySpawnIntoItsOwnScope) {
  manual_executor on;
  std::vector<int> ended;
  auto parent = [](scope& in, std::vector<int>& e) -> task<> {
    co_await sleep_for(1ms);
    in.spawn(push_after(e, 7, 1ms));
  };
  auto body = [](auto p, std::vector<int>& e) -> task<> {
    scope work;
    work.spawn(p(work, e));
    co_await work.join();
    e.push_back(8);
  };
  started s(body(parent, ended));
  on.advance(1ms);
  on.advance(1ms);
  EXPECT_EQ(ended, (std::vector<int>{7, 8}));
}

TEST(ScopeDeathTest, DestroyingOneWithRunningTasksAborts) {
  manual_executor on;
  event<> door;
  auto waits = [](event<>& d) -> task<> { co_await d; };
  EXPECT_DEATH(
      {
        scope work;
        work.spawn(waits(door));
      },
      "destroyed with running tasks");
}

TEST(Scope, SpawningATaskThatWasMovedFromOrHasEndedThrows) {
  auto body = []() -> task<> {
    scope work;
    test::expect_misuse([&] { work.spawn(task<>()); }, "a task is spawned or awaited once");
    auto make = []() -> task<> { co_return; };
    task<> once = make();
    co_await std::move(once);
    test::expect_misuse([&] { work.spawn(std::move(once)); }, "a task is spawned or awaited once");
    EXPECT_EQ(work.running(), 0U);
  };
  manual_executor on;
  started s(body());
  ASSERT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

}  // namespace
}  // namespace coracle::scope_test
