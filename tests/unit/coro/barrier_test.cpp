#include "coracle/coro/barrier.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace coracle::barrier_test {
namespace {

using test::manual_executor;
using test::started;

task<> arrive(barrier& b, std::vector<int>& to, int n, int phases = 1) {
  for (int phase = 0; phase != phases; ++phase) {
    const bool last = co_await b.arrive_and_wait();
    to.push_back(last ? -n : n);
  }
}

TEST(Barrier, TheLastToArriveGoesOnAndTheOthersFollowInOrder) {
  manual_executor on;
  barrier b(3);
  std::vector<int> past;
  started one(arrive(b, past, 1));
  started two(arrive(b, past, 2));
  EXPECT_EQ(b.arrived(), 2U);
  EXPECT_TRUE(past.empty());
  started three(arrive(b, past, 3));
  EXPECT_EQ(past, std::vector<int>{-3}) << "the others not on its stack";
  on.run();
  EXPECT_EQ(past, (std::vector<int>{-3, 1, 2}));
}

TEST(Barrier, IsGoodForPhaseAfterPhase) {
  manual_executor on;
  barrier b(2);
  std::vector<int> past;
  started one(arrive(b, past, 1, 3));
  started two(arrive(b, past, 2, 3));
  on.run();
  EXPECT_TRUE(one.ended());
  EXPECT_TRUE(two.ended());
  EXPECT_EQ(past, (std::vector<int>{-2, 1, -1, 2, -2, 1}));
}

TEST(Barrier, AStoppedWaiterTakesItsArrivalBack) {
  manual_executor on;
  barrier b(2);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> past;
  started one(arrive(b, past, 1), stopping);
  stop.request_stop();
  started two(arrive(b, past, 2));
  on.run();
  EXPECT_TRUE(one.threw<coro::cancelled>());
  EXPECT_FALSE(two.ended());
  started three(arrive(b, past, 3));
  on.run();
  EXPECT_EQ(past, (std::vector<int>{-3, 2}));
}

TEST(Barrier, AStopAfterThePhaseEndedDoesNotUndoIt) {
  manual_executor on;
  barrier b(2);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> past;
  started one(arrive(b, past, 1), stopping);
  started two(arrive(b, past, 2));
  stop.request_stop();
  on.run();
  EXPECT_EQ(past, (std::vector<int>{-2, 1}));
  EXPECT_EQ(b.arrived(), 0U);
}

TEST(Barrier, DroppingOutEndsAPhaseThatWaitedForThatTaskAlone) {
  manual_executor on;
  barrier b(2);
  std::vector<int> past;
  started one(arrive(b, past, 1));
  b.drop();
  on.run();
  EXPECT_EQ(past, std::vector<int>{1});
  EXPECT_EQ(b.parties(), 1U);
}

TEST(Barrier, OneForNoTaskThrows) {
  test::expect_misuse([] { barrier b(0); }, "the number of tasks that arrive");
}

TEST(BarrierDeathTest, DroppingMoreThanAllAborts) {
  manual_executor on;
  barrier b(1);
  b.drop();
  EXPECT_DEATH(b.drop(), "once per task");
}

}  // namespace
}  // namespace coracle::barrier_test
