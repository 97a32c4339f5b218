// Waits for values that are handed over once: queues, generators, oneshots, locks, permits, broadcasts.
#include "unit/runtime/cancellation_races.hpp"

#include "coracle/coro/async_generator.hpp"
#include "coracle/coro/broadcast.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/oneshot.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/coro/when_any.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace coracle::testing_support::cancellation_races_test {
namespace {

INSTANTIATE_TEST_SUITE_P(On, cancellation_races, all_cancellation_races, cancellation_races::case_name);

// Sends numbers through a queue; both sides cancel their waits repeatedly until both have raced enough.
struct numbers {
  static task<bool> send_one(queue<int>& to, int n) { co_return co_await to.send(n); }
  static task<std::optional<int>> receive_one(queue<int>& from) { co_return co_await from.receive(); }
  static task<> send(queue<int>& to, score& mine, const score& others) {
    lengths drawn(1);
    while (mine.total() < races || !others.done) {
      if (drawn.one_in(3)) co_await nap(drawn.draw());
      auto first = co_await when_any_settled(send_one(to, mine.won), nap(drawn.draw()));
      if (first.ok<0>()) ++mine.won;
      else ++mine.lost;
    }
    to.close();
  }
  // Until the queue is closed: every number once, in order.
  static task<> receive(queue<int>& from, score& mine) {
    lengths drawn(2);
    for (;;) {
      if (mine.total() >= races) mine.done = true;
      if (drawn.one_in(3)) co_await nap(drawn.draw());
      auto first = co_await when_any_settled(receive_one(from), nap(drawn.draw()));
      if (!first.ok<0>()) {
        ++mine.lost;
        continue;
      }
      const std::optional<int> n = std::move(first).get<0>();
      if (!n) co_return;
      EXPECT_EQ(*n, mine.won++);
    }
  }
};

TEST_P(cancellation_races, ChannelsLoseNoMessageAndDoubleNone) {
  for (const std::size_t capacity : {0U, 2U}) {
    queue<int> c(capacity, here());
    score sent, received;
    rt().spawn_on(here(), numbers::send(c, sent, received));
    rt().spawn_on(there(), numbers::receive(c, received));
    rt().run();
    EXPECT_EQ(received.won, sent.won);
    expect_both_happened(sent);
    expect_both_happened(received);
  }
}

// A generator between the queue and the reader, which survives when its reader cancels a wait.
struct generated {
  static async_generator<std::optional<int>> relay(queue<int>& from) {
    for (;;) {
      std::optional<int> n;
      bool gave_up = false;
      try {
        n = co_await from.receive();
      } catch (const coro::cancelled&) {
        gave_up = true;
      }
      if (!n && !gave_up) co_return;
      co_yield n;
    }
  }
  static task<std::optional<std::optional<int>>> next(async_generator<std::optional<int>>& of) {
    co_return co_await of.next();
  }
  static task<> receive(queue<int>& from, score& mine) {
    lengths drawn(3);
    async_generator<std::optional<int>> all = relay(from);
    for (;;) {
      if (mine.total() >= races) mine.done = true;
      auto first = co_await when_any_settled(next(all), nap(drawn.draw()));
      if (!first.ok<0>()) {
        ++mine.lost;
        continue;
      }
      const std::optional<std::optional<int>> item = std::move(first).get<0>();
      if (!item) co_return;
      if (*item) {
        EXPECT_EQ(**item, mine.won++);
      } else {
        ++mine.lost;
      }
    }
  }
};

TEST_P(cancellation_races, AGeneratorLosesNoValue) {
  queue<int> c(1, here());
  score sent, received;
  rt().spawn_on(here(), numbers::send(c, sent, received));
  rt().spawn_on(there(), generated::receive(c, received));
  rt().run();
  EXPECT_EQ(received.won, sent.won);
  expect_both_happened(received);
}

struct once {
  static task<std::optional<int>> receive(oneshot<int>& from) { co_return co_await from.receive(); }
  static task<> send(oneshot<int>& to, int n, duration after) {
    co_await nap(after);
    to.send(n);
  }
  static task<> run(loop& there, score& mine) {
    lengths drawn(4);
    while (mine.total() < races) {
      oneshot<int> o;
      const int n = mine.total();
      there.owner().spawn_on(there, send(o, n, drawn.draw()));
      auto first = co_await when_any_settled(receive(o), nap(drawn.draw()));
      std::optional<int> got;
      if (first.ok<0>()) {
        ++mine.won;
        got = std::move(first).get<0>();
      } else {
        ++mine.lost;
        got = co_await o.receive();
      }
      EXPECT_EQ(got, n);
    }
  }
};

TEST_P(cancellation_races, AOneshotKeepsItsValueForTheNextReceive) {
  score s;
  rt().spawn_on(here(), once::run(there(), s));
  rt().run();
  expect_both_happened(s);
}

struct turns {
  static task<mutex::guard> lock(mutex& m) { co_return co_await m.lock(); }
  static task<> run(mutex& m, std::atomic<int>& inside, score& mine, unsigned seed) {
    lengths drawn(seed);
    while (mine.total() < races / 4) {
      auto first = co_await when_any_settled(lock(m), nap(drawn.draw()));
      if (!first.ok<0>()) {
        ++mine.lost;
        continue;
      }
      ++mine.won;
      const mutex::guard held = std::move(first).get<0>();
      EXPECT_EQ(++inside, 1);
      if (drawn.one_in(2)) co_await nap(drawn.draw() / 4);
      --inside;
    }
    // A lost wake-up would block this forever.
    const mutex::guard last = co_await m.lock();
  }
};

TEST_P(cancellation_races, AMutexLosesNoTurn) {
  mutex m(here());
  std::atomic<int> inside{0};
  score all[4];
  for (unsigned i = 0; i != 4; ++i)
    rt().spawn_on(i % 2 ? there() : here(), turns::run(m, inside, all[i], i + 5));
  rt().run();
  score sum;
  for (const score& s : all) {
    sum.won += s.won;
    sum.lost += s.lost;
  }
  expect_both_happened(sum);
}

struct permits {
  static task<> take(semaphore& s, std::size_t n) { co_await s.acquire(n); }
  static task<> run(semaphore& s, std::atomic<int>& taken, score& mine, unsigned seed) {
    lengths drawn(seed);
    while (mine.total() < races / 4) {
      const std::size_t n = 1 + drawn.below(3);
      auto first = co_await when_any_settled(take(s, n), nap(drawn.draw()));
      if (!first.ok<0>()) {
        ++mine.lost;
        continue;
      }
      ++mine.won;
      EXPECT_LE(taken += static_cast<int>(n), 3);
      if (drawn.one_in(2)) co_await nap(drawn.draw() / 4);
      taken -= static_cast<int>(n);
      s.release(n);
    }
    // All permits have been returned: a lost permit would block this forever.
    co_await s.acquire(3);
    s.release(3);
  }
};

TEST_P(cancellation_races, ASemaphoreLosesNoPermitAndMakesNone) {
  semaphore s(3, here());
  std::atomic<int> taken{0};
  score all[4];
  for (unsigned i = 0; i != 4; ++i)
    rt().spawn_on(i % 2 ? there() : here(), permits::run(s, taken, all[i], i + 9));
  rt().run();
  score sum;
  for (const score& one : all) {
    sum.won += one.won;
    sum.lost += one.lost;
  }
  expect_both_happened(sum);
}

struct listening {
  using message = broadcast<int>::received_message;
  static task<std::optional<message>> next(broadcast<int>::subscriber& by) { co_return co_await by.next(); }
  static task<> run(broadcast<int>::subscriber by, score& mine) {
    lengths drawn(13);
    int expected = 0;
    for (;;) {
      if (mine.total() >= races) mine.done = true;
      auto first = co_await when_any_settled(next(by), nap(drawn.draw()));
      if (!first.ok<0>()) {
        ++mine.lost;
        continue;
      }
      std::optional<message> one = std::move(first).get<0>();
      if (!one) co_return;
      ++mine.won;
      expected += static_cast<int>(one->lost());
      EXPECT_EQ(one->message(), expected++);
    }
  }
  static task<> send(broadcast<int>& to, const score& others) {
    lengths drawn(14);
    for (int n = 0; !others.done; ++n) {
      to.send(n);
      co_await nap(drawn.draw());
    }
    to.close();
  }
};

TEST_P(cancellation_races, ASubscriberHearsAllButWhatItIsToldThatItLost) {
  broadcast<int> b(4, here());
  score s;
  rt().spawn_on(there(), listening::run(broadcast<int>::subscriber(b), s));
  rt().spawn_on(here(), listening::send(b, s));
  rt().run();
  expect_both_happened(s);
}

}  // namespace
}  // namespace coracle::testing_support::cancellation_races_test
