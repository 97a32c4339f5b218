// A waiting call that moves to another executor, held at every point of its way.
#include "coracle/coro/impl/waiting_call.hpp"

#include "coracle/coro/mutex.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/turned_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

namespace coracle::waiting_call_test {
namespace {

using test::started;
using test::turned_executor;

struct report {
  bool got = false;
  coro::executor* resumed_on = nullptr;
};

task<> lock_once(mutex& m, report& r) {
  try {
    const mutex::guard held = co_await m.lock();
    r.got = static_cast<bool>(held);
  } catch (const coro::cancelled&) {
    r.resumed_on = coro::executor::current();
    throw;
  }
  r.resumed_on = coro::executor::current();
}

// A mutex at `owner_loop`, locked there, and a task of `away` that locks it.
class waiter_test : public testing::Test {
 protected:
  void lock_at_home() {
    owner_loop.enter([&] { held = m.try_lock(); });
  }
  void unlock_at_home() {
    owner_loop.enter([&] { held.unlock(); });
  }
  void start() {
    away.enter([&] { task_.emplace(lock_once(m, observed), stopping_); });
  }
  void stop_task() {
    away.enter([&] { stop_.request_stop(); });
  }
  void expect_locked_once() {
    EXPECT_TRUE(task_->ended());
    EXPECT_FALSE(task_->error());
    EXPECT_TRUE(observed.got);
    expect_calm();
  }
  void expect_cancelled() {
    EXPECT_TRUE(task_->threw<coro::cancelled>());
    expect_calm();
  }
  void expect_calm() {
    EXPECT_EQ(observed.resumed_on, &away);
    if (held) unlock_at_home();
    owner_loop.turn();
    EXPECT_FALSE(m.is_locked());
    EXPECT_EQ(owner_loop.size() + away.size(), 0U);
  }
  turned_executor owner_loop, away;
  mutex m{owner_loop};
  mutex::guard held;
  report observed;
  std::optional<started> task_;

 private:
  coro::stop_source stop_;
  coro::environment stopping_{stop_.token()};
};

TEST_F(waiter_test, TravelsToAFreeMutexAndResumesWhereTheTaskAwaited) {
  start();
  EXPECT_FALSE(task_->ended());
  owner_loop.turn();
  EXPECT_FALSE(task_->ended()) << "not on the home's stack";
  EXPECT_TRUE(m.is_locked());
  away.turn();
  expect_locked_once();
}

TEST_F(waiter_test, WaitsAtHomeUntilItIsGranted) {
  lock_at_home();
  start();
  owner_loop.turn();
  EXPECT_EQ(away.size(), 0U);
  unlock_at_home();
  EXPECT_TRUE(m.is_locked()) << "handed on";
  away.turn();
  expect_locked_once();
}

TEST_F(waiter_test, StoppedBeforeItArrivesAtAHeldMutexTakesNothing) {
  lock_at_home();
  start();
  stop_task();
  EXPECT_FALSE(task_->ended()) << "its works are still at home";
  owner_loop.turn();
  away.turn();
  expect_cancelled();
}

TEST_F(waiter_test, StoppedBeforeItArrivesAtAFreeMutexKeepsTheLockThatItGot) {
  start();
  stop_task();
  owner_loop.turn();
  away.turn();
  expect_locked_once();
}

TEST_F(waiter_test, StoppedWhileItWaitsLeavesTheQueue) {
  lock_at_home();
  start();
  owner_loop.turn();
  stop_task();
  EXPECT_FALSE(task_->ended()) << "the home does not know yet";
  owner_loop.turn();
  unlock_at_home();
  EXPECT_FALSE(m.is_locked());
  away.turn();
  expect_cancelled();
}

TEST_F(waiter_test, StoppedWhileItsGrantIsOnTheWayKeepsIt) {
  lock_at_home();
  start();
  owner_loop.turn();
  unlock_at_home();
  stop_task();
  away.turn();
  EXPECT_FALSE(task_->ended()) << "the stop is not back yet";
  owner_loop.turn();
  away.turn();
  expect_locked_once();
}

TEST_F(waiter_test, StoppedAfterItsGrantWasSentButBeforeTheHomeKnowsKeepsIt) {
  lock_at_home();
  start();
  owner_loop.turn();
  stop_task();
  unlock_at_home();
  owner_loop.turn();
  away.turn();
  expect_locked_once();
}

TEST_F(waiter_test, OfATaskThatWasStoppedBeforeTakesWhatIsFree) {
  stop_task();
  start();
  owner_loop.turn();
  away.turn();
  expect_locked_once();
}

TEST_F(waiter_test, OfATaskThatWasStoppedBeforeDoesNotWait) {
  lock_at_home();
  stop_task();
  start();
  owner_loop.turn();
  away.turn();
  expect_cancelled();
}

TEST_F(waiter_test, AStopTravelsThoughThePrimitiveIsGone) {
  std::optional<queue<int>> c(std::in_place, 1, owner_loop);
  std::optional<int> got;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::optional<started> reader;
  const auto read = [](queue<int>& from, std::optional<int>& to) -> task<> { to = co_await from.receive(); };
  away.enter([&] { reader.emplace(read(*c, got), stopping); });
  owner_loop.turn();
  owner_loop.enter([&] { EXPECT_TRUE(c->try_send(7)); });
  c.reset();
  away.enter([&] { stop.request_stop(); });
  owner_loop.turn();
  away.turn();
  EXPECT_TRUE(reader->ended());
  EXPECT_EQ(got, 7);
}

TEST_F(waiter_test, ATurnThatAStoppedTaskGaveUpGoesToTheNext) {
  lock_at_home();
  start();
  report other;
  std::optional<started> second;
  away.enter([&] { second.emplace(lock_once(m, other)); });
  owner_loop.turn();
  stop_task();
  owner_loop.turn();
  unlock_at_home();
  away.turn();
  EXPECT_TRUE(second->ended());
  EXPECT_TRUE(other.got);
  expect_cancelled();
}

using waiter_death_test = waiter_test;

TEST_F(waiter_death_test, DestroyingATaskThatWaitsElsewhereAborts) {
  lock_at_home();
  auto frame = lock_once(m, observed).release();
  away.enter([&] { frame.resume(); });
  owner_loop.turn();
  EXPECT_DEATH(frame.destroy(), "stop it and wait for its end");
  unlock_at_home();
  away.turn();
  owner_loop.turn();
  EXPECT_TRUE(observed.got);
  frame.destroy();
}

}  // namespace
}  // namespace coracle::waiting_call_test
