#include "coracle/runtime/start.hpp"

#include "support/every_backend.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/oneshot.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace coracle::start_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;
using testing_support::world_kind;

class start_test : public testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  runtime& rt() { return *world_.get(); }
  loop& here() { return rt().at(0); }
  any_world world_{GetParam(), 2};
};

task<std::unique_ptr<int>> boxed(int value) {
  co_await sleep_for(1ms);
  co_return std::make_unique<int>(value);
}
task<> fail() {
  co_await sleep_for(0ms);
  throw std::runtime_error("no");
}
task<> wait_for_stop() { co_await sleep_for(24h); }

TEST_P(start_test, PassesTheValueOnTheLoopAndNotInsideTheCall) {
  std::optional<int> got;
  bool inside = true;
  start(rt().at(1), boxed(7), [&](outcome<std::unique_ptr<int>> o) {
    EXPECT_FALSE(inside);
    EXPECT_EQ(loop::current(), &rt().at(1));
    got = *std::move(o).value();
  }).detach();
  inside = false;
  rt().run();
  EXPECT_EQ(got, 7);
}

TEST_P(start_test, PassesTheException) {
  bool failed = false;
  start(here(), fail(), [&](outcome<void> o) {
    EXPECT_THROW(o.value(), std::runtime_error);
    failed = true;
  }).detach();
  rt().run();
  EXPECT_TRUE(failed);
}

TEST_P(start_test, ADroppedHandleStopsTheWait) {
  bool stopped = false;
  {
    const started dropped =
        start(here(), wait_for_stop(), [&](const outcome<void>& o) { stopped = o.cancelled(); });
    EXPECT_FALSE(dropped.ended());
  }
  rt().run();
  EXPECT_TRUE(stopped);
}

TEST_P(start_test, CancelFromTheLoopStopsTheWaitAndFollowsIt) {
  auto body = [](runtime& of) -> task<> {
    event<> ended;
    bool stopped = false;
    started waits = start(of.at(0), wait_for_stop(), [&](const outcome<void>& o) {
      stopped = o.cancelled();
      ended.set();
    });
    co_await sleep_for(1ms);
    waits.cancel();
    EXPECT_FALSE(stopped);  // not inside cancel()
    co_await ended;
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(waits.ended());
    waits.cancel();  // nothing is left to cancel
  };
  sync_wait(rt(), here(), body(rt()));
}

TEST_P(start_test, CancelFromAnotherLoopReachesTheWait) {
  auto body = [](runtime& of) -> task<> {
    for (int i = 0; i < 50; ++i) {
      oneshot<bool> stopped;
      started waits =
          start(of.at(1), wait_for_stop(), [&](const outcome<void>& o) { stopped.send(o.cancelled()); });
      if (i % 2 == 0) co_await sleep_for(0ms);
      waits.cancel();
      const std::optional<bool> was = co_await stopped.receive();
      EXPECT_EQ(was, true);
    }
  };
  sync_wait(rt(), here(), body(rt()));
}

TEST_P(start_test, AnEndOfTheRuntimeStopsTheWait) {
  bool stopped = false;
  start(here(), wait_for_stop(), [&](const outcome<void>& o) { stopped = o.cancelled(); }).detach();
  rt().stop();
  rt().run();
  EXPECT_TRUE(stopped);
}

TEST_P(start_test, TheWaitInheritsTheDeadlineOfTheGivenEnvironment) {
  coro::environment limited;
  limited.deadline = rt().now() + 5s;
  time_point seen = never;
  auto body = [](time_point& into) -> task<> {
    const coro::environment& of_task = co_await coro::this_environment();
    into = of_task.deadline;
  };
  start(here(), body(seen), [](const outcome<void>&) {}, &limited).detach();
  rt().run();
  EXPECT_EQ(seen, limited.deadline);
}

TEST_P(start_test, AnOperationInTheCallersMemoryMayBeDestroyedByItsFunction) {
  struct done {
    std::unique_ptr<operation<task<>, done>>* of;
    void operator()(const outcome<void>& o) const {
      EXPECT_TRUE(o.ok());
      of->reset();
    }
  };
  auto quick = []() -> task<> { co_await sleep_for(0ms); };
  std::unique_ptr<operation<task<>, done>> running;
  running = std::make_unique<operation<task<>, done>>(quick(), done{&running});
  running->start(here());
  rt().run();
  EXPECT_FALSE(running);
}

INSTANTIATE_TEST_SUITE_P(Backends, start_test, testing_support::all_kinds,
                         [](const auto& p) { return testing_support::name_of(p.param); });

}  // namespace
}  // namespace coracle::start_test
