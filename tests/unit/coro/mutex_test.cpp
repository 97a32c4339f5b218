#include "coracle/coro/mutex.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace coracle::mutex_test {
namespace {

using test::manual_executor;
using test::started;

task<> lock_then_push(mutex& m, std::vector<int>& to, int n) {
  const mutex::guard held = co_await m.lock();
  to.push_back(n);
}

TEST(Mutex, LockingAFreeOneDoesNotSuspend) {
  manual_executor on;
  mutex m;
  std::vector<int> ended;
  started a(lock_then_push(m, ended, 1));
  EXPECT_TRUE(a.ended());
  EXPECT_FALSE(m.is_locked());
}

TEST(Mutex, TryLockGivesAnEmptyGuardWhileSomebodyHoldsIt) {
  manual_executor on;
  mutex m;
  mutex::guard first = m.try_lock();
  EXPECT_TRUE(first);
  EXPECT_FALSE(m.try_lock());
  first.unlock();
  EXPECT_FALSE(first);
  EXPECT_TRUE(m.try_lock());
}

TEST(Mutex, IsHandedOnInOrderThroughTheExecutor) {
  manual_executor on;
  mutex m;
  std::vector<int> ended;
  mutex::guard held = m.try_lock();
  started a(lock_then_push(m, ended, 1));
  started b(lock_then_push(m, ended, 2));
  started c(lock_then_push(m, ended, 3));
  held.unlock();
  EXPECT_TRUE(ended.empty()) << "not on the unlocker's stack";
  EXPECT_FALSE(m.try_lock()) << "nobody gets between";
  on.run();
  EXPECT_EQ(ended, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(m.is_locked());
}

TEST(Mutex, KeepsOthersOutAcrossAnAwait) {
  manual_executor on;
  mutex m;
  event<> go;
  std::vector<int> seen;
  const auto body = [](mutex& mine, event<>& gate, std::vector<int>& to, int n) -> task<> {
    const mutex::guard held = co_await mine.lock();
    to.push_back(n);
    co_await gate;
    to.push_back(n);
  };
  started a(body(m, go, seen, 1));
  started b(body(m, go, seen, 2));
  on.run();
  EXPECT_EQ(seen, std::vector<int>{1});
  go.set();
  on.run();
  EXPECT_EQ(seen, (std::vector<int>{1, 1, 2, 2}));
}

TEST(Mutex, AStoppedWaiterLeavesTheQueueAndTheTurnPassesOn) {
  manual_executor on;
  mutex m;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  mutex::guard held = m.try_lock();
  started a(lock_then_push(m, ended, 1), stopping);
  started b(lock_then_push(m, ended, 2));
  stop.request_stop();
  held.unlock();
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_EQ(ended, std::vector<int>{2});
  EXPECT_FALSE(m.is_locked());
}

TEST(Mutex, AStopAfterTheLockWasHandedOverDoesNotTakeItBack) {
  manual_executor on;
  mutex m;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  mutex::guard held = m.try_lock();
  started a(lock_then_push(m, ended, 1), stopping);
  started b(lock_then_push(m, ended, 2));
  held.unlock();
  stop.request_stop();
  on.run();
  EXPECT_EQ(ended, (std::vector<int>{1, 2}));
  EXPECT_FALSE(m.is_locked());
}

TEST(Mutex, ATaskThatIsStoppedAlreadyDoesNotWaitButTakesAFreeOne) {
  manual_executor on;
  mutex m;
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment stopping{stop.token()};
  std::vector<int> ended;
  started a(lock_then_push(m, ended, 1), stopping);
  EXPECT_EQ(ended, std::vector<int>{1});
  const mutex::guard held = m.try_lock();
  started b(lock_then_push(m, ended, 2), stopping);
  EXPECT_TRUE(b.threw<coro::cancelled>());
}

TEST(Mutex, AFrameThatIsDestroyedWhileItWaitsLeavesTheQueue) {
  manual_executor on;
  mutex m;
  std::vector<int> ended;
  mutex::guard held = m.try_lock();
  auto frame = lock_then_push(m, ended, 1).release();
  frame.resume();
  started b(lock_then_push(m, ended, 2));
  frame.destroy();
  held.unlock();
  on.run();
  EXPECT_EQ(ended, std::vector<int>{2});
}

TEST(Mutex, AGuardMovesAndUnlocksWhatItHeldBefore) {
  manual_executor on;
  mutex one, two;
  mutex::guard a = one.try_lock();
  mutex::guard b = two.try_lock();
  a = std::move(b);
  EXPECT_FALSE(one.is_locked());
  EXPECT_TRUE(two.is_locked());
  EXPECT_FALSE(b);  // NOLINT: moved from, and says so
  mutex::guard c(std::move(a));
  EXPECT_TRUE(c);
  EXPECT_FALSE(a);  // NOLINT: likewise
}

TEST(Mutex, UnlockingTwiceThrows) {
  manual_executor on;
  mutex m;
  mutex::guard held = m.try_lock();
  held.unlock();
  test::expect_misuse([&] { held.unlock(); }, "unlock each guard once");
}

TEST(MutexDeathTest, DestroyingALockedOneAborts) {
  manual_executor on;
  EXPECT_DEATH(
      {
        mutex::guard held;
        mutex m;
        held = m.try_lock();
      },
      "destroy its guards first");
}

}  // namespace
}  // namespace coracle::mutex_test
