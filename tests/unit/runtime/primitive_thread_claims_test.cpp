// What the headers of include/coracle/coro claim about threads. Several plain threads make each such call at
// once while two loops run; nothing may be lost, doubled or seen half written. ThreadSanitizer runs these
// tests, too.
//
//   coro/barrier.hpp             drop()
//   coro/block_on.hpp            block_on() by plain threads, blocking_signal::set()
//   coro/broadcast.hpp           send(), close(), sent(); a subscriber is made on any thread
//   coro/queue.hpp             post(), close()
//   coro/condition_variable.hpp  notify_one(), notify_all()
//   coro/event.hpp               set(), with and without a value
//   coro/impl/home.hpp           all functions; calls that come before the home is known
//   coro/latch.hpp               count_down()
//   coro/mutex.hpp, coro/shared_mutex.hpp, coro/semaphore.hpp  a guard ends on any thread; release()
//   coro/oneshot.hpp             send(), close()
//   coro/impl/primitive.hpp      calls that wait for nothing; owner_loop(); the destructor; remote_queue
//   coro/wait_group.hpp          add(), done()
//   coro/watch.hpp               set(), close(); an observer is made on any thread
#include "support/at_once.hpp"
#include "support/every_backend.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/barrier.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/broadcast.hpp"
#include "coracle/coro/condition_variable.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/latch.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/oneshot.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/coro/shared_mutex.hpp"
#include "coracle/coro/wait_group.hpp"
#include "coracle/coro/watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::primitive_thread_claims_test {
namespace {

constexpr int threads = 4;
constexpr int rounds = 100;  // of each thread

// A message that contains its sender and its number.
using numbered = std::pair<int, int>;

class primitives : public every_backend {
 protected:
  primitives() : every_backend(2) {}
  void SetUp() override {
    every_backend::SetUp();
    if (!IsSkipped()) rt().start();
  }
  loop& first() { return rt().at(0); }
  loop& second() { return rt().at(1); }
  // Awaits it on the second loop: in most of these tests the primitive's owner loop is the first.
  template <class Primitive>
  void wait_for(Primitive& p) {
    sync_wait(rt(), second(), [](Primitive& one) -> task<> { co_await one; }(p));
  }
  // Runs f() on that loop, after the calls that this thread has made so far.
  template <class F>
  void look(loop& where, F f) {
    sync_wait(rt(), where, [](F& run_here) -> task<> {
      run_here();
      co_return;
    }(f));
  }
};
INSTANTIATE_TEST_SUITE_P(On, primitives, kernel_kinds, every_backend::case_name);

TEST_P(primitives, ALatchCountsWhatAllThreadsCountDown) {
  latch by_one(threads * rounds, first());
  latch by_two(threads * rounds * 2, first());
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      const latch::arrival one(by_one);
      by_two.count_down(2);
    }
  });
  wait_for(by_one);
  wait_for(by_two);
  look(first(), [&] { EXPECT_EQ(by_one.count() + by_two.count(), 0u); });
}

TEST_P(primitives, AWaitGroupIsAtZeroWhenAllThreadsAreDone) {
  wait_group g(first());
  std::atomic<int> ended{0};
  g.add(threads);
  std::jthread waits([&] {
    wait_for(g);
    EXPECT_EQ(ended, threads * rounds);
  });
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      g.add(3);
      g.done();
      g.done();
      ++ended;
      g.done();
    }
    g.done();
  });
}

TEST_P(primitives, ABarrierLosesThePartiesThatThreadsDrop) {
  barrier b(threads * rounds + 1, first());
  std::jthread waits([&] {
    EXPECT_TRUE(sync_wait(rt(), second(), [](barrier& one) -> task<bool> {
      co_await one.arrive_and_wait();
      co_return one.owner_loop() != nullptr;
    }(b)));
  });
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) b.drop();
  });
  waits.join();
  look(first(), [&] { EXPECT_EQ(b.parties(), 1u); });
}

TEST_P(primitives, AnEventIsSetByAllThreads) {
  for (int i = 0; i < rounds; ++i) {
    auto e = std::make_unique<event<>>(first());
    at_once(2, [&](int thread_index) {
      if (thread_index == 0) e->set();
      else wait_for(*e);
    });
    at_once(threads, [&](int) { e->set(); });
    look(first(), [&] { EXPECT_TRUE(e->is_set()); });
  }
}

// Each value is as long as the previous one is kept, and all threads offer the next one.
TEST_P(primitives, AnEventTakesOneValueOfAllThatThreadsOffer) {
  event<std::vector<int>> e(first());
  std::atomic<bool> enough{false};
  std::atomic<int> taken{0};
  int seen = 0;
  std::jthread reads([&] {
    sync_wait(rt(), first(), [](event<std::vector<int>>& from, int& n) -> task<> {
      for (; n < rounds; ++n) {
        const std::vector<int>& value = co_await from;
        EXPECT_EQ(value, std::vector<int>(8, value.front()));
        from.reset();
      }
    }(e, seen));
    enough = true;
  });
  at_once(threads, [&](int thread_index) {
    while (!enough) {
      try {
        e.set(std::vector<int>(8, thread_index));
        ++taken;
      } catch (const usage_error&) {  // another value is there
        std::this_thread::yield();
      }
    }
  });
  reads.join();
  EXPECT_EQ(seen, rounds);
  EXPECT_GE(taken, rounds);
  EXPECT_LE(taken, rounds + 1);  // and one that came behind the last reset()
}

TEST_P(primitives, ASemaphoreHasThePermitsThatAllThreadsRelease) {
  semaphore s(0, first());
  std::jthread takes([&] {
    sync_wait(rt(), second(), [](semaphore& from) -> task<> {
      for (int i = 0; i < threads * rounds; ++i) co_await from.acquire(3);
    }(s));
  });
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      s.release();
      s.release(2);
    }
  });
  takes.join();
  look(first(), [&] { EXPECT_EQ(s.available(), 0u); });
}

// The data that the locks guard is not atomic: ThreadSanitizer detects whether the locks order the accesses.
TEST_P(primitives, LocksKeepPlainThreadsApart) {
  mutex m(first());
  semaphore s(1, second());
  shared_mutex rw(first());
  int by_mutex = 0;
  int by_semaphore = 0;
  int by_writers = 0;
  at_once(threads, [&](int thread_index) {
    int before = 0;
    for (int i = 0; i < rounds; ++i) {
      {
        const mutex::guard held = coro::block_on(m.lock());
        ++by_mutex;
      }
      {
        const semaphore::guard held = coro::block_on(s.acquire_guard());
        ++by_semaphore;
      }
      if (i % threads == thread_index) {
        const shared_mutex::guard held = coro::block_on(rw.lock());
        ++by_writers;
      } else {
        const shared_mutex::shared_guard held = coro::block_on(rw.lock_shared());
        EXPECT_LE(before, by_writers);
        before = by_writers;
      }
    }
  });
  EXPECT_EQ(by_mutex, threads * rounds);
  EXPECT_EQ(by_semaphore, threads * rounds);
  EXPECT_EQ(by_writers, rounds);
}

TEST_P(primitives, GuardsThatLoopsTookEndOnPlainThreads) {
  for (int i = 0; i < rounds; ++i) {
    semaphore s(threads, first());
    shared_mutex rw(first());
    std::deque<semaphore::guard> permits;
    std::deque<shared_mutex::shared_guard> shares;
    for (int n = 0; n < threads; ++n) {
      permits.push_back(coro::block_on(s.acquire_guard()));
      shares.push_back(coro::block_on(rw.lock_shared()));
    }
    at_once(threads, [&](int thread_index) {
      {
        const semaphore::guard ends = std::move(permits[static_cast<std::size_t>(thread_index)]);
      }
      shares[static_cast<std::size_t>(thread_index)].unlock();
    });
    coro::block_on(s.acquire(threads));
    look(first(), [&] { EXPECT_EQ(s.available(), 0u); });
    shared_mutex::guard all = coro::block_on(rw.lock());
    std::jthread([&] { all.unlock(); }).join();
  }
}

TEST_P(primitives, AConditionIsToldOfByAllThreads) {
  mutex m(first());
  condition_variable one_came(first());
  condition_variable all_came(first());
  int count = 0;
  std::jthread each([&] {
    sync_wait(rt(), second(), [](mutex& of, condition_variable& c, int& n) -> task<> {
      mutex::guard held = co_await of.lock();
      const auto all = [&n] { return n == threads * rounds; };
      co_await c.wait(held, all);
    }(m, one_came, count));
  });
  std::jthread last([&] {
    sync_wait(rt(), first(), [](mutex& of, condition_variable& c, int& n) -> task<> {
      mutex::guard held = co_await of.lock();
      const auto all = [&n] { return n == threads * rounds; };
      co_await c.wait(held, all);
    }(m, all_came, count));
  });
  at_once(threads, [&](int) {
    for (int i = 0; i < rounds; ++i) {
      {
        const mutex::guard held = coro::block_on(m.lock());
        ++count;
      }
      one_came.notify_one();
      all_came.notify_all();
    }
  });
  each.join();
  last.join();
  EXPECT_EQ(count, threads * rounds);
}

TEST_P(primitives, EachOneshotGetsItsValueOrItsEnd) {
  constexpr std::size_t many = threads * rounds;
  std::deque<oneshot<std::unique_ptr<int>>> all;
  for (std::size_t i = 0; i < many; ++i) all.emplace_back(rt().at(i % 2));
  std::size_t sum = 0;
  std::size_t without = 0;
  std::jthread receives([&] {
    sync_wait(rt(), first(),
              [](std::deque<oneshot<std::unique_ptr<int>>>& from, std::size_t& values,
                 std::size_t& ends) -> task<> {
                for (oneshot<std::unique_ptr<int>>& o : from) {
                  const std::optional<std::unique_ptr<int>> got = co_await o.receive();
                  if (got) values += static_cast<std::size_t>(**got);
                  else ++ends;
                }
              }(all, sum, without));
  });
  at_once(threads, [&](int thread_index) {
    for (std::size_t i = static_cast<std::size_t>(thread_index); i < many; i += threads) {
      if (i % 5 == 0) all[i].close();
      else all[i].send(std::make_unique<int>(1));
    }
  });
  receives.join();
  EXPECT_EQ(without, many / 5);
  EXPECT_EQ(sum, many - many / 5);
}

// Whether the messages of each sender are in order, and how many there are.
class order {
 public:
  void saw(const numbered& one) {
    EXPECT_GT(one.second, last_[static_cast<std::size_t>(one.first)])
        << "the messages of sender " << one.first;
    last_[static_cast<std::size_t>(one.first)] = one.second;
    ++count_;
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  std::vector<int> last_ = std::vector<int>(threads, -1);
  int count_ = 0;
};

TEST_P(primitives, AChannelLosesNothingOfWhatAllThreadsPost) {
  queue<numbered> c(3, first());
  order there;
  std::jthread receives([&] {
    sync_wait(rt(), second(), [](queue<numbered>& from, order& to) -> task<> {
      while (const auto one = co_await from.receive()) to.saw(*one);
    }(c, there));
  });
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) {
      if (i % 4 == 0) {
        EXPECT_TRUE(coro::block_on(c.send(numbered(thread_index, i))));
      } else {
        c.post({thread_index, i});
      }
    }
    EXPECT_TRUE(coro::block_on(c.send(numbered(thread_index, rounds))));  // behind those that were posted
  });
  at_once(threads, [&](int) { c.close(); });
  receives.join();
  EXPECT_EQ(there.count(), threads * (rounds + 1));
  EXPECT_FALSE(coro::block_on(c.send(numbered(0, 0))));
}

TEST_P(primitives, AWatchShowsTheLastValueThatAThreadSet) {
  watch<numbered> w({0, -1}, first());
  std::vector<std::jthread> observe;
  for (std::size_t i = 0; i < threads; ++i) {
    observe.emplace_back([&, i] {
      watch<numbered>::observer mine(w);
      std::vector<int> last(threads, -1);
      const auto saw = [&last](const numbered& one) {
        EXPECT_GE(one.second, last[static_cast<std::size_t>(one.first)]);
        last[static_cast<std::size_t>(one.first)] = one.second;
      };
      if (i % 2 == 0) {
        while (const auto one = coro::block_on(mine.changed())) saw(*one);
      } else {
        sync_wait(rt(), second(), [](watch<numbered>::observer& by, decltype(saw)& see) -> task<> {
          while (const auto one = co_await by.changed()) see(*one);
        }(mine, saw));
      }
      EXPECT_EQ(*std::max_element(last.begin(), last.end()), rounds - 1)
          << "the last value of one of the threads";
    });
  }
  at_once(threads, [&](int thread_index) {
    for (int i = 0; i < rounds; ++i) w.set({thread_index, i});
  });
  at_once(threads, [&](int) { w.close(); });
}

TEST_P(primitives, SubscribersHearOrKnowOfEachMessageOfAllThreads) {
  broadcast<numbered> b(16, first());
  std::vector<std::jthread> hear;
  std::latch subscribed(threads);
  for (int i = 0; i < threads; ++i) {
    hear.emplace_back([&, i] {
      broadcast<numbered>::subscriber mine(b);
      subscribed.count_down();
      order received;
      std::uint64_t lost = 0;
      const auto next = [&received, &lost](broadcast<numbered>::received_message& one) {
        received.saw(one.message());
        lost += one.lost();
      };
      if (i % 2 == 0) {
        while (auto one = coro::block_on(mine.next())) next(*one);
      } else {
        sync_wait(rt(), second(), [](broadcast<numbered>::subscriber& by, decltype(next)& to) -> task<> {
          while (auto one = co_await by.next()) to(*one);
        }(mine, next));
      }
      EXPECT_EQ(static_cast<std::uint64_t>(received.count()) + lost, std::uint64_t{threads * rounds});
    });
  }
  subscribed.wait();
  at_once(threads, [&](int thread_index) {
    std::uint64_t before = 0;
    for (int i = 0; i < rounds; ++i) {
      b.send({thread_index, i});
      const std::uint64_t sent = b.sent();
      EXPECT_GE(sent, before);
      before = sent;
    }
  });
  at_once(threads, [&](int) { b.close(); });
  hear.clear();
  EXPECT_EQ(b.sent(), std::uint64_t{threads * rounds});
}

// Constructed on a plain thread, it finds its owner loop while other threads call it.
TEST_P(primitives, WithoutAHomeKeepTheCallsOfAllThreadsUntilThereIsOne) {
  for (int i = 0; i < rounds; ++i) {
    latch l(threads);
    queue<int> c(threads);
    at_once(threads + 2, [&](int thread_index) {
      if (thread_index < threads) {
        c.post(thread_index);
        l.count_down();
        return;
      }
      sync_wait(rt(), rt().at(static_cast<std::size_t>(thread_index - threads)),
                [](latch& all) -> task<> { co_await all; }(l));
    });
    EXPECT_NE(l.owner_loop(), nullptr);
    const int sum = sync_wait(rt(), first(), [](queue<int>& from) -> task<int> {
      int all = 0;
      for (int n = 0; n < threads; ++n) all += *co_await from.receive();
      co_return all;
    }(c));
    EXPECT_EQ(sum, threads * (threads - 1) / 2);
  }
}

// The calls in transit are dropped, wherever they are.
TEST_P(primitives, GoWhileCallsAreOnTheirWay) {
  for (int i = 0; i < rounds; ++i) {
    auto l = std::make_unique<latch>(2 * threads, first());
    auto b = std::make_unique<broadcast<std::shared_ptr<int>>>(4, second());
    const auto message = std::make_shared<int>(i);
    at_once(threads, [&](int) {
      l->count_down();
      b->send(message);
    });
    at_once(2, [&](int thread_index) {
      if (thread_index == 0) l.reset();
      else b.reset();
    });
    for (loop* where : {&first(), &second()}) look(*where, [] {});  // the calls have arrived
    EXPECT_EQ(message.use_count(), 1);
  }
}

}  // namespace
}  // namespace coracle::testing_support::primitive_thread_claims_test
