#include "coracle/coro/event.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace coracle::event_test {
namespace {

using test::manual_executor;
using test::started;

task<> wait_then_push(event<>& e, std::vector<int>& to, int n) {
  co_await e;
  to.push_back(n);
}

TEST(Event, AwaitingASetOneDoesNotSuspend) {
  manual_executor on;
  event<> e;
  e.set();
  std::vector<int> ended;
  started s(wait_then_push(e, ended, 1));
  EXPECT_TRUE(s.ended());
}

TEST(Event, ResumesWaitersInOrderThroughTheExecutor) {
  manual_executor on;
  event<> e;
  std::vector<int> ended;
  started a(wait_then_push(e, ended, 1));
  started b(wait_then_push(e, ended, 2));
  e.set();
  EXPECT_TRUE(ended.empty()) << "not on the setter's stack";
  on.run();
  EXPECT_EQ(ended, (std::vector<int>{1, 2}));
}

TEST(Event, WaitersThatWereReleasedStaySoAfterAReset) {
  manual_executor on;
  event<> e;
  std::vector<int> ended;
  started a(wait_then_push(e, ended, 1));
  e.set();
  e.reset();
  started b(wait_then_push(e, ended, 2));
  on.run();
  EXPECT_TRUE(a.ended());
  EXPECT_FALSE(b.ended());
  e.set();
  on.run();
  EXPECT_TRUE(b.ended());
}

TEST(Event, AStopThrowsOutOfTheWaitAndLeavesTheOthers) {
  manual_executor on;
  event<> e;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(e, ended, 1), stopping);
  started b(wait_then_push(e, ended, 2));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_FALSE(e.is_set());
  EXPECT_FALSE(b.ended());
  e.set();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{2});
}

TEST(Event, AStopAfterSetDoesNotTakeTheWaitBack) {
  manual_executor on;
  event<> e;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(e, ended, 1), stopping);
  e.set();
  stop.request_stop();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{1});
}

TEST(Event, AWaiterThatIsStoppedAlreadyDoesNotSuspend) {
  manual_executor on;
  event<> e;
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(e, ended, 1), stopping);
  EXPECT_TRUE(a.threw<coro::cancelled>());
}

task<> wait_for_text(event<std::string>& e, std::vector<const std::string*>& to) {
  const std::string& text = co_await e;
  to.push_back(&text);
}

TEST(EventWithAValue, GivesItToAllThatWaitAndToAllThatComeLater) {
  manual_executor on;
  event<std::string> e;
  std::vector<const std::string*> got;
  started a(wait_for_text(e, got));
  started b(wait_for_text(e, got));
  e.set("open");
  EXPECT_TRUE(got.empty()) << "not on the setter's stack";
  on.run();
  started c(wait_for_text(e, got));
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(*got[0], "open");
  EXPECT_EQ(got[0], got[1]) << "it is one value, of which none gets a copy";
  EXPECT_EQ(got[0], got[2]);
}

TEST(EventWithAValue, TakesAnotherAfterAReset) {
  manual_executor on;
  event<std::string> e;
  e.set("first");
  e.reset();
  e.reset();
  EXPECT_FALSE(e.is_set());
  std::vector<const std::string*> got;
  started a(wait_for_text(e, got));
  EXPECT_FALSE(a.ended());
  e.set("second");
  on.run();
  EXPECT_EQ(*got.at(0), "second");
}

TEST(EventWithAValue, AStoppedWaiterGetsNothing) {
  manual_executor on;
  event<std::string> e;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<const std::string*> got;
  started a(wait_for_text(e, got), stopping);
  stop.request_stop();
  e.set("late");
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_TRUE(got.empty());
}

TEST(EventGuard, SetsItOnEveryWayOut) {
  manual_executor on;
  event<> e;
  try {
    const event<>::guard at_the_end(e);
    EXPECT_FALSE(e.is_set());
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(e.is_set());
}

TEST(Event, ASecondValueThrows) {
  manual_executor on;
  event<std::string> e;
  e.set("first");
  test::expect_misuse([&] { e.set("second"); }, "call reset() in between");
}

TEST(EventDeathTest, DestroyingOneThatIsWaitedForAborts) {
  EXPECT_DEATH(
      {
        manual_executor on;
        auto e = std::make_unique<event<>>();
        std::vector<int> ended;
        started a(wait_then_push(*e, ended, 1));
        e.reset();
      },
      "join them first");
}

}  // namespace
}  // namespace coracle::event_test
