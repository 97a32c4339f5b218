#include "coracle/coro/latch.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace coracle::latch_test {
namespace {

using test::manual_executor;
using test::started;

task<> wait_then_push(latch& l, std::vector<int>& to, int n) {
  co_await l;
  to.push_back(n);
}

TEST(Latch, OpensAtZeroAndResumesWaitersInOrderThroughTheExecutor) {
  manual_executor on;
  latch l(3);
  std::vector<int> ended;
  started a(wait_then_push(l, ended, 1));
  started b(wait_then_push(l, ended, 2));
  l.count_down(2);
  on.run();
  EXPECT_FALSE(l.is_open());
  EXPECT_TRUE(ended.empty());
  l.count_down();
  EXPECT_TRUE(ended.empty()) << "not on the caller's stack";
  on.run();
  EXPECT_EQ(ended, (std::vector<int>{1, 2}));
}

TEST(Latch, AwaitingAnOpenOneDoesNotSuspend) {
  manual_executor on;
  latch l(0);
  std::vector<int> ended;
  started a(wait_then_push(l, ended, 1));
  EXPECT_TRUE(a.ended());
}

TEST(Latch, MayBeDestroyedOnceItIsOpen) {
  manual_executor on;
  auto l = std::make_unique<latch>(1);
  std::vector<int> ended;
  started a(wait_then_push(*l, ended, 1));
  l->count_down();
  l.reset();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{1});
}

TEST(Latch, AnArrivalCountsDownAtTheEndOfItsBlock) {
  manual_executor on;
  latch l(1);
  {
    const latch::arrival here(l);
    EXPECT_EQ(l.count(), 1U);
  }
  EXPECT_TRUE(l.is_open());
}

TEST(Latch, AStoppedWaiterLeavesTheCountAndTheOthers) {
  manual_executor on;
  latch l(1);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(l, ended, 1), stopping);
  started b(wait_then_push(l, ended, 2));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_EQ(l.count(), 1U);
  l.count_down();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{2});
}

TEST(Latch, AStopAfterItOpenedDoesNotTakeTheWaitBack) {
  manual_executor on;
  latch l(1);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(wait_then_push(l, ended, 1), stopping);
  l.count_down();
  stop.request_stop();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{1});
}

TEST(LatchDeathTest, CountingBelowZeroAborts) {
  manual_executor on;
  latch l(1);
  EXPECT_DEATH(l.count_down(2), "the number of all arrivals");
}

}  // namespace
}  // namespace coracle::latch_test
