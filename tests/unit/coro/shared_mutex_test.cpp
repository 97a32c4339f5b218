#include "coracle/coro/shared_mutex.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace coracle::shared_mutex_test {
namespace {

using test::manual_executor;
using test::started;

task<> look(shared_mutex& m, event<>& leave, std::vector<int>& in, int n) {
  const shared_mutex::shared_guard held = co_await m.lock_shared();
  in.push_back(n);
  co_await leave;
}

task<> change(shared_mutex& m, event<>& leave, std::vector<int>& in, int n) {
  const shared_mutex::guard held = co_await m.lock();
  in.push_back(n);
  co_await leave;
}

TEST(SharedMutex, ManyShareItWithoutSuspending) {
  manual_executor on;
  shared_mutex m;
  event<> leave;
  std::vector<int> in;
  started a(look(m, leave, in, 1));
  started b(look(m, leave, in, 2));
  EXPECT_EQ(in, (std::vector<int>{1, 2}));
  EXPECT_FALSE(m.try_lock());
  EXPECT_TRUE(m.try_lock_shared());
  leave.set();
  on.run();
  EXPECT_TRUE(m.try_lock());
}

TEST(SharedMutex, OneThatChangesIsAlone) {
  manual_executor on;
  shared_mutex m;
  event<> leave;
  std::vector<int> in;
  started a(change(m, leave, in, 1));
  started b(change(m, leave, in, 2));
  started c(look(m, leave, in, 3));
  EXPECT_FALSE(m.try_lock());
  EXPECT_FALSE(m.try_lock_shared());
  EXPECT_EQ(in, std::vector<int>{1});
  leave.set();
  on.run();
  EXPECT_EQ(in, (std::vector<int>{1, 2, 3}));
}

TEST(SharedMutex, NobodyOvertakesAndNeighboursThatShareGoTogether) {
  manual_executor on;
  shared_mutex m;
  event<> first, second, third;
  std::vector<int> in;
  started a(look(m, first, in, 1));
  started b(change(m, second, in, 2));
  started c(look(m, third, in, 3));
  started d(look(m, third, in, 4));
  EXPECT_FALSE(m.try_lock_shared()) << "somebody waits";
  EXPECT_EQ(in, std::vector<int>{1});
  first.set();
  on.run();
  EXPECT_EQ(in, (std::vector<int>{1, 2}));
  second.set();
  on.run();
  EXPECT_EQ(in, (std::vector<int>{1, 2, 3, 4}));
  third.set();
  on.run();
}

TEST(SharedMutex, AStoppedWaiterLetsThoseBehindItThatFitGoOn) {
  manual_executor on;
  shared_mutex m;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  event<> leave;
  std::vector<int> in;
  started a(look(m, leave, in, 1));
  started b(change(m, leave, in, 2), stopping);
  started c(look(m, leave, in, 3));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(b.threw<coro::cancelled>());
  EXPECT_EQ(in, (std::vector<int>{1, 3}));
  leave.set();
  on.run();
}

TEST(SharedMutex, AStopAfterTheGrantDoesNotTakeTheLockBack) {
  manual_executor on;
  shared_mutex m;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  event<> leave;
  leave.set();
  std::vector<int> in;
  shared_mutex::guard held = m.try_lock();
  started a(change(m, leave, in, 1), stopping);
  started b(look(m, leave, in, 2));
  held.unlock();
  EXPECT_TRUE(in.empty()) << "not on the unlocker's stack";
  stop.request_stop();
  on.run();
  EXPECT_EQ(in, (std::vector<int>{1, 2}));
  EXPECT_TRUE(m.try_lock());
}

TEST(SharedMutex, AGuardMovesAndUnlocksWhatItHeldBefore) {
  manual_executor on;
  shared_mutex one, two;
  shared_mutex::guard a = one.try_lock();
  shared_mutex::guard b = two.try_lock();
  a = std::move(b);
  EXPECT_TRUE(one.try_lock_shared());
  EXPECT_FALSE(two.try_lock_shared());
}

TEST(SharedMutex, UnlockingTwiceThrows) {
  manual_executor on;
  shared_mutex m;
  shared_mutex::shared_guard held = m.try_lock_shared();
  held.unlock();
  test::expect_misuse([&] { held.unlock(); }, "unlock each guard once");
}

}  // namespace
}  // namespace coracle::shared_mutex_test
