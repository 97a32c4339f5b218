#include "coracle/coro/wait_group.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace coracle::wait_group_test {
namespace {

using test::manual_executor;
using test::started;

task<> wait_then_push(wait_group& g, std::vector<int>& to, int n) {
  co_await g;
  to.push_back(n);
}

TEST(WaitGroup, AwaitingOneAtZeroDoesNotSuspend) {
  manual_executor on;
  wait_group g;
  std::vector<int> ended;
  started a(wait_then_push(g, ended, 1));
  EXPECT_TRUE(a.ended());
}

TEST(WaitGroup, TheLastDoneResumesWaitersInOrderThroughTheExecutor) {
  manual_executor on;
  wait_group g;
  g.add(2);
  std::vector<int> ended;
  started a(wait_then_push(g, ended, 1));
  started b(wait_then_push(g, ended, 2));
  g.done();
  on.run();
  EXPECT_TRUE(ended.empty());
  g.done();
  EXPECT_TRUE(ended.empty()) << "not on the caller's stack";
  on.run();
  EXPECT_EQ(ended, (std::vector<int>{1, 2}));
}

TEST(WaitGroup, MayBeUsedAgainAndThoseReleasedStayReleased) {
  manual_executor on;
  wait_group g;
  std::vector<int> ended;
  g.add();
  started a(wait_then_push(g, ended, 1));
  g.done();
  g.add();
  started b(wait_then_push(g, ended, 2));
  on.run();
  EXPECT_EQ(ended, std::vector<int>{1});
  g.done();
  on.run();
  EXPECT_EQ(ended, (std::vector<int>{1, 2}));
}

TEST(WaitGroup, AMemberCountsForAsLongAsItLives) {
  manual_executor on;
  wait_group g;
  {
    const wait_group::member here(g);
    EXPECT_EQ(g.count(), 1U);
  }
  EXPECT_EQ(g.count(), 0U);
}

TEST(WaitGroup, AStoppedWaiterLeavesTheCountAndTheOthers) {
  manual_executor on;
  wait_group g;
  g.add();
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(g, ended, 1), stopping);
  started b(wait_then_push(g, ended, 2));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  g.done();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{2});
}

TEST(WaitGroup, AStopAfterTheLastDoneDoesNotTakeTheWaitBack) {
  manual_executor on;
  wait_group g;
  g.add();
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(g, ended, 1), stopping);
  g.done();
  stop.request_stop();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{1});
}

TEST(WaitGroupDeathTest, DoneWithoutAddAborts) {
  manual_executor on;
  wait_group g;
  EXPECT_DEATH(g.done(), "before the work starts, once per done");
}

}  // namespace
}  // namespace coracle::wait_group_test
