#include "coracle/coro/impl/owner_loop.hpp"

#include "coracle/coro/condition_variable.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/latch.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/coro/wait_group.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"
#include "support/turned_executor.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::owner_loop_test {
namespace {

using test::started;
using test::turned_executor;

struct noted : coro::runnable {
  noted(std::vector<int>& to, int n) : log(to), number(n) {
    run = [](coro::runnable& w) noexcept {
      auto& self = static_cast<noted&>(w);
      self.log.push_back(self.number);
    };
  }
  std::vector<int>& log;
  int number;
};

TEST(Home, IsWhereItWasMade) {
  turned_executor a, b;
  std::optional<coro::owner_loop> h;
  a.enter([&] { h.emplace(); });
  EXPECT_EQ(h->where(), &a);
  EXPECT_FALSE(h->is_current());
  b.enter([&] { EXPECT_FALSE(h->is_current()); });
  a.enter([&] { EXPECT_TRUE(h->is_current()); });
}

TEST(Home, IsWhereItsOwnerWasTold) {
  turned_executor a, b;
  std::optional<coro::owner_loop> h;
  a.enter([&] { h.emplace(b); });
  a.enter([&] { EXPECT_FALSE(h->is_current()); });
  b.enter([&] { EXPECT_TRUE(h->is_current()); });
}

TEST(Home, OfAPlainThreadIsTheFirstExecutorThatAsks) {
  turned_executor a, b;
  coro::owner_loop h;
  EXPECT_EQ(h.where(), nullptr);
  EXPECT_FALSE(h.is_current());
  b.enter([&] { EXPECT_TRUE(h.is_current()); });
  a.enter([&] { EXPECT_FALSE(h.is_current()); });
  EXPECT_EQ(h.where(), &b);
}

TEST(Home, KeepsWhatIsPostedBeforeItIsFoundAndRunsItFirstInOrder) {
  turned_executor a;
  coro::owner_loop h;
  std::vector<int> log;
  noted one(log, 1), two(log, 2), three(log, 3);
  h.post(one);
  h.post(two);
  a.enter([&] { EXPECT_TRUE(h.is_current()); });
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  h.post(three);
  EXPECT_EQ(log.size(), 2U);
  a.turn();
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
}

TEST(Home, CallsFromPlainThreadsCountAlthoughThereIsNoHomeYet) {
  turned_executor a;
  event<> door;
  event<int> number;
  latch all(2);
  wait_group group;
  semaphore permits(0);
  queue<int> numbers(4);
  door.set();
  number.set(7);
  all.count_down();
  all.count_down();
  group.add(2);
  group.done();
  permits.release(2);
  numbers.post(1);
  numbers.post(2);
  numbers.close();
  int seen = 0;
  const auto body = [](event<>& d, event<int>& n, latch& l, wait_group& g, semaphore& s, queue<int>& c,
                       int& to) -> task<> {
    co_await d;
    to += co_await n;
    co_await l;
    g.done();
    co_await g;
    co_await s.acquire(2);
    while (const std::optional<int> m = co_await c.receive()) to += *m;
  };
  std::optional<started> t;
  a.enter([&] { t.emplace(body(door, number, all, group, permits, numbers, seen)); });
  while (a.size()) a.turn();
  EXPECT_TRUE(t->ended());
  EXPECT_EQ(seen, 10);
}

TEST(Home, MessagesThatNeverFoundOneAreFreed) {
  const auto message = std::make_shared<int>(1);
  {
    queue<std::shared_ptr<int>> c(1);
    latch l(1);
    l.count_down();
    c.post(message);
    c.close();
    c.post(message);
    EXPECT_EQ(message.use_count(), 3);
  }
  EXPECT_EQ(message.use_count(), 1);
}

TEST(Home, CallsFromElsewhereAreSummedUpInOneWork) {
  turned_executor a, b;
  latch l(5, a);
  b.enter([&] {
    l.count_down();
    l.count_down(3);
  });
  EXPECT_EQ(l.count(), 5U);
  EXPECT_EQ(a.size(), 1U);
  a.turn();
  EXPECT_EQ(l.count(), 1U);
  l.count_down();
  EXPECT_EQ(a.size(), 1U);
  a.turn();
  EXPECT_TRUE(l.is_open());
}

TEST(Home, AnAddOnItsWayKeepsTheLastDoneFromReleasingTheGroup) {
  turned_executor a, b;
  wait_group g(a);
  a.enter([&] { g.add(); });
  b.enter([&] { g.add(); });
  a.enter([&] { g.done(); });  // of what the other loop added, say: it goes behind the add
  const auto wait = [](wait_group& group) -> task<> { co_await group; };
  std::optional<started> t;
  a.enter([&] { t.emplace(wait(g)); });
  a.turn();
  EXPECT_FALSE(t->ended());
  EXPECT_EQ(g.count(), 1U);
  a.enter([&] { g.done(); });
  a.turn();
  EXPECT_TRUE(t->ended());
}

TEST(Home, AConditionVariableFindsThatOfItsMutex) {
  turned_executor a, b;
  mutex m(a);
  condition_variable changed;
  const auto wait = [](mutex& of, condition_variable& c) -> task<> {
    mutex::guard held = co_await of.lock();
    co_await c.wait(held);
    EXPECT_TRUE(held);
  };
  std::optional<started> t;
  b.enter([&] { t.emplace(wait(m, changed)); });
  a.turn();
  b.turn();
  EXPECT_EQ(changed.owner_loop(), &a);
  a.turn();
  EXPECT_FALSE(m.is_locked()) << "it waits without the lock";
  changed.notify_one();
  a.turn();
  b.turn();
  EXPECT_TRUE(t->ended());
  a.turn();
  EXPECT_FALSE(m.is_locked()) << "the guard ended elsewhere";
}

TEST(Home, APrimitiveMayGoWhileCallsAreOnTheirWay) {
  turned_executor a;
  const auto message = std::make_shared<int>(1);
  {
    latch l(2, a);
    mutex m(a);
    mutex::guard held;
    queue<std::shared_ptr<int>> c(1, a);
    l.count_down();
    c.post(message);
    a.enter([&] { held = m.try_lock(); });
    held.unlock();
    EXPECT_EQ(a.size(), 3U);
  }
  EXPECT_EQ(message.use_count(), 2) << "on its way";
  a.turn();
  EXPECT_EQ(message.use_count(), 1);
}

TEST(Home, CallsThatNeedAnAnswerThrowElsewhere) {
  turned_executor a;
  mutex m(a);
  semaphore s(1, a);
  queue<int> c(1, a);
  event<> e(a);
  test::expect_misuse([&] { (void)m.try_lock(); }, "co_await lock");
  test::expect_misuse([&] { (void)s.try_acquire(); }, "co_await acquire");
  test::expect_misuse([&] { (void)c.try_send(1); }, "co_await send");
  test::expect_misuse([&] { (void)c.try_receive(); }, "co_await receive");
  test::expect_misuse([&] { e.reset(); }, "on another loop");
}

TEST(Home, AMutexAndAConditionVariableThatLiveApartThrow) {
  turned_executor a, b;
  mutex m(a);
  condition_variable changed(b);
  a.enter([&] {
    mutex::guard held = m.try_lock();
    test::expect_misuse([&] { (void)changed.wait(held); }, "construct both on one loop");
  });
}

}  // namespace
}  // namespace coracle::owner_loop_test
