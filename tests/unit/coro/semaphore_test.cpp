#include "coracle/coro/semaphore.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::semaphore_test {
namespace {

using test::manual_executor;
using test::started;

task<> acquire_then_push(semaphore& s, std::vector<int>& to, int n, std::size_t permits = 1) {
  co_await s.acquire(permits);
  to.push_back(n);
}

TEST(Semaphore, LetsSoManyTasksInWithoutSuspendingThem) {
  manual_executor on;
  semaphore s(2);
  std::vector<int> in;
  started a(acquire_then_push(s, in, 1));
  started b(acquire_then_push(s, in, 2));
  started c(acquire_then_push(s, in, 3));
  EXPECT_EQ(in, (std::vector<int>{1, 2}));
  EXPECT_EQ(s.available(), 0U);
  EXPECT_FALSE(s.try_acquire());
  s.release();
  EXPECT_FALSE(c.ended()) << "not on the releaser's stack";
  on.run();
  EXPECT_TRUE(c.ended());
}

TEST(Semaphore, GrantsInOrderAndNobodyOvertakesOneThatWantsMany) {
  manual_executor on;
  semaphore s(0);
  std::vector<int> in;
  started many(acquire_then_push(s, in, 1, 3));
  started few(acquire_then_push(s, in, 2, 1));
  s.release(2);
  EXPECT_FALSE(s.try_acquire());
  on.run();
  EXPECT_TRUE(in.empty());
  s.release(2);
  on.run();
  EXPECT_EQ(in, (std::vector<int>{1, 2}));
  EXPECT_EQ(s.available(), 0U);
}

TEST(Semaphore, AStoppedWaiterTakesNothingAndThoseBehindItThatFitGoOn) {
  manual_executor on;
  semaphore s(1);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> in;
  started many(acquire_then_push(s, in, 1, 2), stopping);
  started few(acquire_then_push(s, in, 2, 1));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(many.threw<coro::cancelled>());
  EXPECT_EQ(in, std::vector<int>{2});
}

TEST(Semaphore, AStopAfterTheGrantDoesNotTakeThePermitBack) {
  manual_executor on;
  semaphore s(0);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> in;
  started a(acquire_then_push(s, in, 1), stopping);
  s.release();
  stop.request_stop();
  on.run();
  EXPECT_EQ(in, std::vector<int>{1});
  EXPECT_EQ(s.available(), 0U);
}

TEST(Semaphore, ATaskThatIsStoppedAlreadyDoesNotWait) {
  manual_executor on;
  semaphore s(0);
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment stopping{stop.token()};
  std::vector<int> in;
  started a(acquire_then_push(s, in, 1), stopping);
  EXPECT_TRUE(a.threw<coro::cancelled>());
}

task<> hold_until(semaphore& s, event<>& done, std::size_t permits) {
  const semaphore::guard held = co_await s.acquire_guard(permits);
  EXPECT_TRUE(held);
  co_await done;
}

TEST(Semaphore, AGuardReleasesWhatItHasAcquiredWhenItEnds) {
  manual_executor on;
  semaphore s(3);
  event<> done;
  started holder(hold_until(s, done, 2));
  EXPECT_EQ(s.available(), 1U);
  std::vector<int> in;
  started waiter(acquire_then_push(s, in, 1, 2));
  on.run();
  EXPECT_TRUE(in.empty());
  done.set();
  on.run();
  EXPECT_EQ(in, std::vector<int>{1});
  EXPECT_EQ(s.available(), 1U);
}

TEST(Semaphore, AGuardIsGrantedToATaskThatWaited) {
  manual_executor on;
  semaphore s(0);
  event<> done;
  started holder(hold_until(s, done, 2));
  s.release(2);
  on.run();
  EXPECT_EQ(s.available(), 0U);
  done.set();
  on.run();
  EXPECT_EQ(s.available(), 2U);
}

TEST(Semaphore, AStoppedWaiterForAGuardReleasesNothing) {
  manual_executor on;
  semaphore s(0);
  event<> done;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  started holder(hold_until(s, done, 1), stopping);
  stop.request_stop();
  on.run();
  EXPECT_TRUE(holder.threw<coro::cancelled>());
  EXPECT_EQ(s.available(), 0U);
}

TEST(Semaphore, AGuardReleasesOnceHoweverOftenItIsMoved) {
  manual_executor on;
  semaphore s(3);
  semaphore::guard one = s.try_acquire_guard();
  semaphore::guard two = s.try_acquire_guard(2);
  EXPECT_EQ(s.available(), 0U);
  EXPECT_FALSE(s.try_acquire_guard());
  semaphore::guard moved(std::move(one));
  EXPECT_EQ(s.available(), 0U);
  moved = std::move(two);
  EXPECT_EQ(s.available(), 1U) << "what it held before";
  EXPECT_TRUE(moved);
  moved.release();
  EXPECT_EQ(s.available(), 3U);
  EXPECT_FALSE(moved);
}

TEST(Semaphore, ReleasingAGuardThatHoldsNothingThrows) {
  manual_executor on;
  semaphore s(1);
  semaphore::guard held = s.try_acquire_guard();
  held.release();
  test::expect_misuse([&] { held.release(); }, "release each guard once");
}

TEST(SemaphoreDeathTest, DestroyingOneThatIsWaitedForAborts) {
  EXPECT_DEATH(
      {
        manual_executor on;
        std::vector<int> in;
        auto s = std::make_unique<semaphore>(0);
        started a(acquire_then_push(*s, in, 1));
        s.reset();
      },
      "join them first");
}

}  // namespace
}  // namespace coracle::semaphore_test
