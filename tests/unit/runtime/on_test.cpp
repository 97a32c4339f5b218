#include "coracle/runtime/on.hpp"

#include "support/every_backend.hpp"
#include "support/misuse.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace coracle::on_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;
using testing_support::world_kind;

class on_test : public testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  runtime& rt() { return *world_.get(); }
  template <class T>
  T run(task<T> t) {
    return sync_wait(rt(), rt().at(0), std::move(t));
  }
  any_world world_{GetParam(), 3};
};

task<std::size_t> index_here() { co_return loop::current()->index(); }
task<std::unique_ptr<int>> boxed(int value) {
  co_await sleep_for(1ms);
  co_return std::make_unique<int>(value);
}
task<> fail() {
  co_await sleep_for(0ms);
  throw std::runtime_error("over there");
}

TEST_P(on_test, TheTaskRunsThereAndItsAwaiterGoesOnHere) {
  auto body = [](runtime& rt) -> task<> {
    for (std::size_t i = 0; i < rt.size(); ++i) {
      const std::size_t there = co_await on(rt.at(i), index_here());
      EXPECT_EQ(there, i);
      EXPECT_EQ(loop::current()->index(), 0u);
    }
  };
  run(body(rt()));
}

TEST_P(on_test, ItsValueAndItsExceptionComeBack) {
  auto body = [](runtime& rt) -> task<> {
    for (std::size_t i = 0; i < rt.size(); ++i) {
      const std::unique_ptr<int> value = co_await on(rt.at(i), boxed(7));
      EXPECT_EQ(*value, 7);
      bool threw = false;
      try {
        co_await on(rt.at(i), fail());
      } catch (const std::runtime_error&) {
        threw = true;
      }
      EXPECT_TRUE(threw);
      EXPECT_EQ(loop::current()->index(), 0u);
    }
  };
  run(body(rt()));
}

TEST_P(on_test, OnTheLoopItselfNothingElseRunsInBetween) {
  auto mark = [](int& turn) -> task<> {
    turn = 1;
    co_return;
  };
  auto body = [](runtime& rt, auto other) -> task<> {
    int ran = 0;
    rt.spawn_on(rt.at(0), other(ran));
    const std::size_t there = co_await on(rt.at(0), index_here());
    EXPECT_EQ(there, 0u);
    EXPECT_EQ(ran, 0) << "a hop would have let the root that was queued before it run";
    co_await yield();
    EXPECT_EQ(ran, 1);
  };
  run(body(rt(), mark));
}

task<std::pair<time_point, const void*>> what_it_inherits() {
  const coro::environment& here = co_await coro::this_environment();
  co_return std::pair(here.deadline, here.call);
}

TEST_P(on_test, TheDeadlineAndTheCallAreInherited) {
  auto inside = [](runtime& rt) -> task<> {
    const auto found = co_await on(rt.at(1), what_it_inherits());
    EXPECT_EQ(found.first, time_point(5s));
    EXPECT_EQ(found.second, &rt);
  };
  auto body = [](runtime& rt, auto in) -> task<> {
    scope work{coro::environment{{}, time_point(5s), &rt}};
    work.spawn(in(rt));
    co_await work.join();
  };
  run(body(rt(), inside));
}

task<> until_stopped(std::atomic<bool>& began, std::atomic<bool>& ended) {
  began = true;
  try {
    co_await sleep_for(24h);
  } catch (const coro::cancelled&) {
    EXPECT_EQ(loop::current()->index(), 1u);
    ended = true;
    throw;
  }
}
task<> expect_cancelled(runtime& rt, std::atomic<bool>& began, std::atomic<bool>& ended) {
  bool cancelled = false;
  try {
    co_await on(rt.at(1), until_stopped(began, ended));
  } catch (const coro::cancelled&) {
    cancelled = true;
  }
  EXPECT_TRUE(cancelled);
  EXPECT_TRUE(ended) << "the await ends with the task";
  EXPECT_EQ(loop::current()->index(), 0u);
}

TEST_P(on_test, AStopReachesTheTaskAndIsWaitedFor) {
  auto body = [](runtime& rt) -> task<> {
    std::atomic<bool> began{false};
    std::atomic<bool> ended{false};
    scope work{co_await coro::this_environment()};
    work.spawn(expect_cancelled(rt, began, ended));
    while (!began) co_await sleep_for(1ms);
    work.request_stop();
    EXPECT_EQ(work.running(), 1u);
    co_await work.join();
  };
  run(body(rt()));
}

TEST_P(on_test, UnderAStopTheTaskFindsItsTokenFired) {
  auto body = [](runtime& rt) -> task<> {
    std::atomic<bool> began{false};
    std::atomic<bool> ended{false};
    scope work{co_await coro::this_environment()};
    work.request_stop();
    work.spawn(expect_cancelled(rt, began, ended));
    co_await work.join();
    EXPECT_TRUE(ended);
  };
  run(body(rt()));
}

TEST_P(on_test, AStopOfTheRuntimeReachesIt) {
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  auto stopper = [](runtime& rt, std::atomic<bool>& b) -> task<> {
    while (!b) co_await sleep_for(1ms);
    rt.stop();
  };
  rt().spawn_on(rt().at(0), expect_cancelled(rt(), began, ended));
  rt().spawn_on(rt().at(2), stopper(rt(), began));
  rt().run();
  EXPECT_TRUE(ended);
}

// The stop request and the end of the task cross each other at every distance.
TEST_P(on_test, AStopMayMeetTheTasksEndAnywhere) {
  auto yields = [](int times) -> task<> {
    for (int i = 0; i < times; ++i) co_await yield();
  };
  auto visitor = [](runtime& rt, auto there, int times) -> task<> {
    try {
      co_await on(rt.at(1), there(times));
    } catch (const coro::cancelled&) {
    }
  };
  auto body = [](runtime& rt, auto go, auto there) -> task<> {
    for (int i = 0; i < 1000; ++i) {
      scope work{co_await coro::this_environment()};
      work.spawn(go(rt, there, i % 3));
      for (int k = 0; k < i % 7; ++k) co_await yield();
      work.request_stop();
      co_await work.join();
    }
  };
  run(body(rt(), visitor, yields));
}

task<int> walk(runtime& rt, int steps) {
  int seen = 0;
  for (int i = 0; i < steps; ++i)
    if (co_await on(rt.at(static_cast<std::size_t>(i) % rt.size()), index_here()) < rt.size()) ++seen;
  co_return seen;
}

TEST_P(on_test, ManyVisitsBetweenAllLoopsAtOnce) {
  auto body = [](runtime& rt) -> task<int> {
    std::vector<task<int>> walkers;
    for (int i = 0; i < 20; ++i) walkers.push_back(walk(rt, 100));
    int all = 0;
    const std::vector<int> seen = co_await when_all(std::move(walkers));
    for (int n : seen) all += n;
    co_return all;
  };
  task<int> elsewhere = body(rt());
  rt().spawn_on(rt().at(2), [](runtime& r) -> task<> { EXPECT_EQ(co_await walk(r, 500), 500); }(rt()));
  EXPECT_EQ(run(std::move(elsewhere)), 2000);
  rt().run();
}

TEST_P(on_test, VisitsNest) {
  auto inner = [](runtime& rt) -> task<std::size_t> {
    const std::size_t back = co_await on(rt.at(0), index_here());
    co_return back + 10 * loop::current()->index();
  };
  auto body = [](runtime& rt, auto in) -> task<std::size_t> { co_return co_await on(rt.at(2), in(rt)); };
  EXPECT_EQ(run(body(rt(), inner)), 20u);
}

INSTANTIATE_TEST_SUITE_P(Backends, on_test, testing_support::all_kinds,
                         [](const auto& p) { return testing_support::name_of(p.param); });

TEST(OnMisuse, ALoopOfAnotherRuntimeThrows) {
  auto body = [](runtime& other) -> task<> { co_await on(other.at(0), index_here()); };
  runtime rt;
  runtime other;
  test::expect_misuse([&] { sync_wait(rt, body(other)); }, "a loop of another runtime");
}

}  // namespace
}  // namespace coracle::on_test
