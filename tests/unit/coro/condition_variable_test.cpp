#include "coracle/coro/condition_variable.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace coracle::condition_variable_test {
namespace {

using test::manual_executor;
using test::started;

struct shared_state {
  mutex m;
  condition_variable changed;
  int value = 0;
  std::vector<int> woken;
};

task<> wait_once(shared_state& s, int n) {
  mutex::guard held = co_await s.m.lock();
  co_await s.changed.wait(held);
  EXPECT_TRUE(s.m.is_locked());
  s.woken.push_back(n);
}

task<> wait_for_value(shared_state& s, int value) {
  mutex::guard held = co_await s.m.lock();
  co_await s.changed.wait(held, [&s, value] { return s.value >= value; });
  s.woken.push_back(value);
}

task<> wait_and_check_the_lock(shared_state& s, bool& held_after) {
  mutex::guard held = co_await s.m.lock();
  try {
    co_await s.changed.wait(held);
  } catch (const coro::cancelled&) {
    held_after = held && s.m.is_locked();
    throw;
  }
}

TEST(ConditionVariable, WaitingLetsTheLockGoAndHasItAgainAfterwards) {
  manual_executor on;
  shared_state s;
  started a(wait_once(s, 1));
  EXPECT_FALSE(s.m.is_locked());
  s.changed.notify_one();
  EXPECT_TRUE(s.woken.empty()) << "not on the notifier's stack";
  on.run();
  EXPECT_EQ(s.woken, std::vector<int>{1});
  EXPECT_FALSE(s.m.is_locked());
}

TEST(ConditionVariable, NotifiesInOrderOneOrAll) {
  manual_executor on;
  shared_state s;
  started a(wait_once(s, 1));
  started b(wait_once(s, 2));
  started c(wait_once(s, 3));
  s.changed.notify_one();
  on.run();
  EXPECT_EQ(s.woken, std::vector<int>{1});
  s.changed.notify_all();
  s.changed.notify_all();
  on.run();
  EXPECT_EQ(s.woken, (std::vector<int>{1, 2, 3}));
}

TEST(ConditionVariable, ANotifiedWaiterQueuesForTheLock) {
  manual_executor on;
  shared_state s;
  started a(wait_once(s, 1));
  mutex::guard held = s.m.try_lock();
  s.changed.notify_all();
  on.run();
  EXPECT_FALSE(a.ended());
  held.unlock();
  on.run();
  EXPECT_TRUE(a.ended());
}

TEST(ConditionVariable, WithAPredicateItWaitsUntilThatHolds) {
  manual_executor on;
  shared_state s;
  started a(wait_for_value(s, 2));
  started b(wait_for_value(s, 1));
  started none(wait_for_value(s, 0));
  EXPECT_TRUE(none.ended()) << "it held from the start";
  s.value = 1;
  s.changed.notify_all();
  on.run();
  EXPECT_FALSE(a.ended());
  EXPECT_TRUE(b.ended());
  s.value = 2;
  s.changed.notify_all();
  on.run();
  EXPECT_EQ(s.woken, (std::vector<int>{0, 1, 2}));
}

TEST(ConditionVariable, AStoppedWaiterThrowsWithTheLockHeldAndTakesNoNotification) {
  manual_executor on;
  shared_state s;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  bool held_after = false;
  started a(wait_and_check_the_lock(s, held_after), stopping);
  started b(wait_once(s, 2));
  mutex::guard held = s.m.try_lock();
  stop.request_stop();
  on.run();
  EXPECT_FALSE(a.ended()) << "it waits for the lock";
  s.changed.notify_one();
  held.unlock();
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_TRUE(held_after);
  EXPECT_EQ(s.woken, std::vector<int>{2});
  EXPECT_FALSE(s.m.is_locked());
}

TEST(ConditionVariable, AStopAfterTheNotificationDoesNotLoseIt) {
  manual_executor on;
  shared_state s;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  started a(wait_once(s, 1), stopping);
  mutex::guard held = s.m.try_lock();
  s.changed.notify_one();
  stop.request_stop();
  held.unlock();
  on.run();
  EXPECT_EQ(s.woken, std::vector<int>{1});
}

TEST(ConditionVariable, ATaskThatIsStoppedAlreadyKeepsTheLockAndThrows) {
  manual_executor on;
  shared_state s;
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment stopping{stop.token()};
  bool held_after = false;
  started a(wait_and_check_the_lock(s, held_after), stopping);
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_TRUE(held_after);
}

TEST(ConditionVariable, AFrameThatIsDestroyedWhileItWaitsLeavesAnothersLockAlone) {
  manual_executor on;
  shared_state s;
  auto frame = wait_once(s, 1).release();
  frame.resume();
  mutex::guard held = s.m.try_lock();
  frame.destroy();
  EXPECT_TRUE(s.m.is_locked());
  s.changed.notify_all();
  held.unlock();
  EXPECT_FALSE(s.m.is_locked());
}

TEST(ConditionVariable, WaitingWithoutTheLockThrows) {
  condition_variable changed;
  mutex::guard none;
  test::expect_misuse([&] { static_cast<void>(changed.wait(none)); }, "lock the mutex and pass its guard");
}

}  // namespace
}  // namespace coracle::condition_variable_test
