#include "coracle/coro/event.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace coracle {
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

}  // namespace
}  // namespace coracle
