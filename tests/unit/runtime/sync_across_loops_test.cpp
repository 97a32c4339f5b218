// The primitives of the room coro, used by tasks of two loops at once, and by plain threads.
#include "support/every_backend.hpp"

#include "coracle/coro/barrier.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/condition_variable.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/latch.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/oneshot.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/coro/shared_mutex.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/wait_group.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::sync_across_loops_test {
namespace {

using namespace std::chrono_literals;

constexpr int rounds = 200;

// Lets the other tasks run.
task<> pause() { co_await sleep_for(0ns); }

class across_loops : public every_backend {
 protected:
  across_loops() : every_backend(2) {}
  loop& first() { return rt().at(0); }
  loop& second() { return rt().at(1); }
  // Runs the given number of tasks on each of both loops, until all have ended.
  template <class Fn, class... Args>
  void run_on_both(int tasks, Fn fn, Args&... args) {
    for (int n = 0; n != tasks; ++n)
      for (std::size_t at : {0U, 1U}) rt().spawn_on(rt().at(at), fn(args...));
    rt().run();
  }
};

TEST_P(across_loops, CountingNothingFromElsewhereDoesNothing) {
  latch done(2, first());
  const auto count = [](latch& l) -> task<> {
    for (const std::size_t n : {0, 0, 1, 0, 1, 0}) l.count_down(n);
    co_return;
  };
  const auto wait = [](latch& l) -> task<> { co_await l; };
  rt().spawn_on(first(), wait(done));
  rt().spawn_on(second(), count(done));
  rt().run();
}

TEST_P(across_loops, AMutexKeepsTasksOfAllLoopsApartAndResumesThemAtTheirOwn) {
  mutex m;
  int count = 0;
  const auto body = [](mutex& mine, int& n) -> task<> {
    const coro::executor* here = coro::executor::current();
    for (int i = 0; i != rounds; ++i) {
      const mutex::guard held = co_await mine.lock();
      EXPECT_TRUE(here->is_current());
      const int before = n;
      if (i % 8 == 0) co_await pause();
      n = before + 1;
    }
  };
  run_on_both(2, body, m, count);
  EXPECT_EQ(count, 4 * rounds);
}

TEST_P(across_loops, ASharedMutexKeepsThoseWhoChangeApartFromAll) {
  shared_mutex m;
  int count = 0;
  std::atomic<int> wrong{0};
  const auto body = [](shared_mutex& mine, int& n, std::atomic<int>& bad) -> task<> {
    for (int i = 0; i != rounds; ++i) {
      if (i % 4 == 0) {
        const shared_mutex::guard held = co_await mine.lock();
        const int before = n;
        co_await pause();
        n = before + 1;
      } else {
        const shared_mutex::shared_guard held = co_await mine.lock_shared();
        const int before = n;
        if (i % 4 == 1) co_await pause();
        if (n != before) ++bad;
      }
    }
  };
  run_on_both(2, body, m, count, wrong);
  EXPECT_EQ(count, rounds);
  EXPECT_EQ(wrong, 0);
}

TEST_P(across_loops, ASemaphoreGivesNoMorePermitsThanItHas) {
  semaphore s(2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto body = [](semaphore& mine, std::atomic<int>& in, std::atomic<int>& peak) -> task<> {
    for (int i = 0; i != rounds; ++i) {
      co_await mine.acquire();
      const int now = ++in;
      if (now > peak) peak = now;
      if (i % 4 == 0) co_await pause();
      --in;
      mine.release();
    }
  };
  run_on_both(2, body, s, inside, most);
  EXPECT_LE(most, 2);
  EXPECT_EQ(inside, 0);
}

TEST_P(across_loops, AChannelPassesEachMessageOnceAndThoseOfOneSenderInOrder) {
  for (const std::size_t capacity : {0U, 1U, 5U}) {
    queue<std::pair<int, int>> c(capacity, second());
    std::vector<std::pair<int, int>> got[2];
    wait_group senders(first());
    const auto send = [](queue<std::pair<int, int>>& to, int thread_index, wait_group& all) -> task<> {
      for (int i = 0; i != rounds; ++i) {
        const std::pair<int, int> message(thread_index, i);
        const bool sent = co_await to.send(message);
        EXPECT_TRUE(sent);
      }
      all.done();
    };
    const auto receive = [](queue<std::pair<int, int>>& from,
                            std::vector<std::pair<int, int>>& to) -> task<> {
      while (const auto message = co_await from.receive()) to.push_back(*message);
    };
    const auto end = [](queue<std::pair<int, int>>& of, wait_group& all) -> task<> {
      co_await all;
      of.close();
    };
    senders.add(2);
    for (const std::size_t at : {0U, 1U}) {
      rt().spawn_on(rt().at(at), send(c, static_cast<int>(at), senders));
      rt().spawn_on(rt().at(at), receive(c, got[at]));
    }
    rt().spawn_on(first(), end(c, senders));
    rt().run();
    std::vector<int> seen[2];
    for (const auto& some : got) {
      int last[2] = {-1, -1};
      for (const auto& [who, i] : some) {
        EXPECT_GT(i, last[who]) << "a receiver sees the messages of a sender in order";
        last[who] = i;
        seen[who].push_back(i);
      }
    }
    for (auto& all : seen) {
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), static_cast<std::size_t>(rounds));
      for (int i = 0; i != rounds; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST_P(across_loops, ALatchMayGoAsSoonAsItsWaiterRuns) {
  const auto count = [](latch& l) -> task<> {
    l.count_down();
    co_return;
  };
  const auto body = [](runtime& on, decltype(count) down) -> task<> {
    for (int i = 0; i != rounds; ++i) {
      std::optional<latch> l(std::in_place, 3, on.at(static_cast<std::size_t>(i) % 2));
      for (const std::size_t at : {0U, 1U, 1U}) on.spawn_on(on.at(at), down(*l));
      co_await *l;
      l.reset();
    }
  };
  rt().spawn_on(first(), body(rt(), count));
  rt().run();
}

TEST_P(across_loops, ASemaphoreMayGoAsSoonAsItsWaiterRuns) {
  const auto give = [](semaphore& s) -> task<> {
    s.release();
    co_return;
  };
  const auto body = [](runtime& on, decltype(give) gives) -> task<> {
    for (int i = 0; i != rounds; ++i) {
      std::optional<semaphore> s(std::in_place, 0, on.at(static_cast<std::size_t>(i) % 2));
      for (const std::size_t at : {0U, 1U, 1U}) on.spawn_on(on.at(at), gives(*s));
      co_await s->acquire(3);
      s.reset();
    }
  };
  rt().spawn_on(first(), body(rt(), give));
  rt().run();
}

TEST_P(across_loops, AWaitGroupWaitsForWhatOtherLoopsAdd) {
  std::atomic<int> ended{0};
  struct program {
    static task<> grow(runtime& on, wait_group& all, int depth, std::atomic<int>& n) {
      const coro::executor* here = coro::executor::current();
      if (depth != 0) {
        for (const std::size_t at : {0U, 1U}) {
          all.add();
          on.spawn_on(on.at(at), grow(on, all, depth - 1, n));
        }
        co_await pause();
      }
      EXPECT_TRUE(here->is_current());
      ++n;
      all.done();
    }
    static task<> root(runtime& on, std::atomic<int>& n) {
      for (int i = 0; i != 20; ++i) {
        std::optional<wait_group> all(std::in_place, on.at(static_cast<std::size_t>(i) % 2));
        all->add();
        n = 0;
        on.spawn_on(on.at(1), grow(on, *all, 5, n));
        co_await *all;
        all.reset();
        EXPECT_EQ(n, 63);
      }
    }
  };
  rt().spawn_on(first(), program::root(rt(), ended));
  rt().run();
}

TEST_P(across_loops, ABarrierEndsAPhaseWhenTasksOfAllLoopsHaveArrived) {
  barrier b(4);
  std::atomic<int> arrived{0};
  std::atomic<int> last{0};
  const auto body = [](barrier& mine, std::atomic<int>& n, std::atomic<int>& once) -> task<> {
    for (int i = 1; i <= rounds; ++i) {
      ++n;
      if (co_await mine.arrive_and_wait()) ++once;
      EXPECT_GE(n, 4 * i);
    }
    mine.drop();
  };
  run_on_both(2, body, b, arrived, last);
  EXPECT_EQ(last, rounds);
}

TEST_P(across_loops, AConditionVariableTellsTasksOfAllLoops) {
  mutex m(second());
  condition_variable changed(second());
  int turn = 0;
  const auto body = [](mutex& mine, condition_variable& c, int& whose, int me) -> task<> {
    const auto my_turn = [&whose, me] { return whose % 2 == me; };
    for (int i = 0; i != rounds; ++i) {
      mutex::guard held = co_await mine.lock();
      co_await c.wait(held, my_turn);
      EXPECT_TRUE(held);
      ++whose;
      c.notify_all();
    }
  };
  rt().spawn_on(first(), body(m, changed, turn, 0));
  rt().spawn_on(second(), body(m, changed, turn, 1));
  rt().run();
  EXPECT_EQ(turn, 2 * rounds);
}

TEST_P(across_loops, AnEventLetsTasksOfAllLoopsThrough) {
  for (int i = 0; i != 20; ++i) {
    event<> door;
    event<std::vector<int>> list;
    std::atomic<int> through{0};
    const auto body = [](event<>& d, event<std::vector<int>>& values, std::atomic<int>& n) -> task<> {
      co_await d;
      const std::vector<int>& v = co_await values;
      n += v.at(1);
    };
    const auto open = [](event<>& d, event<std::vector<int>>& values) -> task<> {
      const event<>::guard at_the_end(d);
      values.set(std::vector<int>(2, 1));
      co_return;
    };
    rt().spawn_on(rt().at(static_cast<std::size_t>(i) % 2), open(door, list));
    run_on_both(2, body, door, list, through);
    EXPECT_EQ(through, 4);
  }
}

TEST_P(across_loops, AOneshotMayGoAsSoonAsItsReceiverHasTheValue) {
  const auto send = [](oneshot<std::unique_ptr<int>>& to, int n) -> task<> {
    to.send(std::make_unique<int>(n));
    co_return;
  };
  const auto body = [](runtime& on, decltype(send) sends) -> task<> {
    for (int i = 0; i != rounds; ++i) {
      const auto owner_loop = static_cast<std::size_t>(i / 2) % 2;
      std::optional<oneshot<std::unique_ptr<int>>> o(std::in_place, on.at(owner_loop));
      on.spawn_on(on.at(static_cast<std::size_t>(i) % 2), sends(*o, i));
      const std::optional<std::unique_ptr<int>> n = co_await o->receive();
      o.reset();
      EXPECT_EQ(**n, i);
    }
  };
  rt().spawn_on(first(), body(rt(), send));
  rt().run();
}

TEST_P(across_loops, PostedMessagesOfATaskArriveInOrderHoweverFullTheChannelIs) {
  queue<int> c(3, second());
  std::vector<int> got;
  const auto post = [](queue<int>& to) -> task<> {
    for (int i = 0; i != rounds; ++i) to.post(i);
    co_return;
  };
  const auto receive = [](queue<int>& from, std::vector<int>& to) -> task<> {
    while (to.size() != static_cast<std::size_t>(rounds)) to.push_back(*co_await from.receive());
  };
  rt().spawn_on(first(), post(c));
  rt().spawn_on(first(), receive(c, got));
  rt().run();
  for (int i = 0; i != rounds; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
}

INSTANTIATE_TEST_SUITE_P(On, across_loops, all_kinds, every_backend::case_name);

class plain_threads : public across_loops {
 protected:
  void SetUp() override {
    across_loops::SetUp();
    if (rt_made()) rt().start();
  }
  // Runs f(n) on each of the given number of threads.
  template <class F>
  static void on_threads(int n, F f) {
    std::vector<std::thread> all;
    for (int i = 0; i != n; ++i) all.emplace_back(f, i);
    for (std::thread& t : all) t.join();
  }

 private:
  bool rt_made() { return !IsSkipped(); }
};

TEST_P(plain_threads, CountALatchDownAndGroupsToo) {
  for (int i = 0; i != 50; ++i) {
    const auto l = std::make_unique<latch>(3);
    wait_group g(second());
    g.add(3);
    on_threads(3, [&](int) {
      const latch::arrival one(*l);
      g.done();
    });
    const auto wait = [](latch& all, wait_group& group) -> task<> {
      co_await all;
      co_await group;
    };
    sync_wait(rt(), first(), wait(*l, g));
  }
}

TEST_P(plain_threads, WaitForPrimitivesByBlocking) {
  mutex m(first());
  semaphore s(1, second());
  event<> go(second());
  event<int> number(first());
  int counted = 0;
  int guarded = 0;
  rt().spawn_on(first(), [](event<>& e, event<int>& n) -> task<> {
    co_await pause();
    n.set(4);
    e.set();
  }(go, number));
  on_threads(3, [&](int) {
    coro::block_on(go);
    EXPECT_EQ(coro::block_on(number), 4);
    for (int i = 0; i != 50; ++i) {
      {
        const mutex::guard held = coro::block_on(m.lock());
        ++guarded;
      }
      coro::block_on(s.acquire());
      ++counted;
      s.release();
    }
  });
  EXPECT_EQ(counted, 150);
  EXPECT_EQ(guarded, 150);
  const mutex::guard last = coro::block_on(m.lock());  // behind the others' unlocks
  coro::block_on(s.acquire());
}

TEST_P(plain_threads, SendAndReceiveThroughAChannel) {
  queue<int> in(2, first());
  queue<int> out(2, second());
  const auto relay = [](queue<int>& from, queue<int>& to) -> task<> {
    while (std::optional<int> n = co_await from.receive()) {
      const bool sent = co_await to.send(std::move(*n));
      EXPECT_TRUE(sent);
    }
    to.close();
  };
  rt().spawn_on(second(), relay(in, out));
  std::thread reader([&] {
    std::vector<int> sums(3);
    while (const std::optional<int> n = coro::block_on(out.receive()))
      EXPECT_EQ(sums[static_cast<std::size_t>(*n / 1000)]++, *n % 1000) << "each sender's in order";
    EXPECT_EQ(sums, (std::vector<int>{100, 100, 100}));
  });
  on_threads(3, [&](int thread_index) {
    for (int i = 0; i != 100; ++i) {
      if (i % 2) {
        EXPECT_TRUE(coro::block_on(in.send(thread_index * 1000 + i)));
      } else {
        in.post(thread_index * 1000 + i);
      }
    }
  });
  in.close();
  reader.join();
}

// The thread that wakes a loop for the last time may still be in post() when the loop's runtime is destroyed.
TEST_P(plain_threads, ARuntimeMayEndAsSoonAsAnotherThreadHasWokenIt) {
  const auto wait = [](event<>& e) -> task<> { co_await e; };
  for (int i = 0; i != rounds; ++i) {
    std::optional<any_world> brief(std::in_place, GetParam());
    event<> done(brief->get()->at(0));
    std::thread sets([&] { done.set(); });
    sync_wait(*brief->get(), wait(done));
    brief.reset();
    sets.join();
  }
}

INSTANTIATE_TEST_SUITE_P(On, plain_threads, kernel_kinds, every_backend::case_name);

}  // namespace
}  // namespace coracle::testing_support::sync_across_loops_test
