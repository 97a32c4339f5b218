// Waits for a state that others change: watches, shared locks, conditions.
#include "unit/runtime/cancellation_races.hpp"

#include "coracle/coro/condition_variable.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/shared_mutex.hpp"
#include "coracle/coro/watch.hpp"
#include "coracle/coro/when_any.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <utility>

namespace coracle::testing_support::state_races_test {
namespace {

class state_races : public cancellation_races {};
INSTANTIATE_TEST_SUITE_P(On, state_races, all_cancellation_races, state_races::case_name);

// Each value is set when the previous one was observed, so that every value must be observed.
struct watching {
  std::atomic<int> seen{-1};
  int last_set = -1;
  score s;

  static task<std::optional<int>> changed(watch<int>::observer& by) { co_return co_await by.changed(); }
  static task<> observe(watch<int>& w, watching& mine) {
    lengths drawn(21);
    watch<int>::observer by(w);
    for (;;) {
      if (mine.s.total() >= races) mine.s.done = true;
      auto first = co_await when_any_settled(changed(by), nap(drawn.draw()));
      if (!first.ok<0>()) {
        ++mine.s.lost;
        continue;
      }
      const std::optional<int> value = std::move(first).get<0>();
      if (!value) co_return;
      EXPECT_EQ(*value, mine.s.won++);
      mine.seen = *value;
    }
  }
  static task<> change(watch<int>& w, watching& others) {
    lengths drawn(22);
    for (int n = 0; !others.s.done; ++n) {
      others.last_set = n;
      if (n > 0) w.set(n);
      do co_await nap(drawn.draw());
      while (others.seen != n && !others.s.done);
    }
    w.close();
  }
};

TEST_P(state_races, AnObserverSeesEachValueOnce) {
  watch<int> w(0, here());
  watching all;
  rt().spawn_on(there(), watching::observe(w, all));
  rt().spawn_on(here(), watching::change(w, all));
  rt().run();
  EXPECT_EQ(all.seen, all.last_set);
  expect_both_happened(all.s);
}

struct sharing {
  static constexpr int alone = 1000;
  static task<shared_mutex::guard> lock(shared_mutex& m) { co_return co_await m.lock(); }
  static task<shared_mutex::shared_guard> lock_shared(shared_mutex& m) { co_return co_await m.lock_shared(); }
  template <class Locking>
  static task<> one(Locking locking, int weight, std::atomic<int>& inside, score& mine, lengths& drawn) {
    auto first = co_await when_any_settled(std::move(locking), nap(drawn.draw()));
    if (!first.template ok<0>()) {
      ++mine.lost;
      co_return;
    }
    ++mine.won;
    const auto held = std::move(first).template get<0>();
    const int now = inside += weight;
    EXPECT_TRUE(weight == alone ? now == alone : now < alone) << now;
    if (drawn.one_in(2)) co_await nap(drawn.draw() / 4);
    inside -= weight;
  }
  static task<> run(shared_mutex& m, std::atomic<int>& inside, score& mine, unsigned seed) {
    lengths drawn(seed);
    while (mine.total() < races / 4) {
      if (drawn.one_in(3)) co_await one(lock(m), alone, inside, mine, drawn);
      else co_await one(lock_shared(m), 1, inside, mine, drawn);
    }
    // A lost wake-up would block this forever.
    const shared_mutex::guard last = co_await m.lock();
  }
};

TEST_P(state_races, ASharedMutexLosesNoTurnOfEitherKind) {
  shared_mutex m(here());
  std::atomic<int> inside{0};
  score all[4];
  score sum;
  for (unsigned i = 0; i != 4; ++i)
    rt().spawn_on(i % 2 ? there() : here(), sharing::run(m, inside, all[i], i + 23));
  rt().run();
  for (const score& one : all) sum.add(one);
  expect_both_happened(sum);
}

// A piece is produced when the previous one was consumed, with one notification. A waiter that cancels its
// wait may have been the notified one: then it takes the piece, or another waiter is notified.
struct market {
  explicit market(loop& owner_loop) : m(owner_loop), brought(owner_loop) {}
  mutex m;
  condition_variable brought;
  int stock = 0;  // under the mutex from here on
  int taken = 0;
  bool closed = false;
  score impatient;

  static task<> take_when_told(market& at) {
    mutex::guard held = co_await at.m.lock();
    co_await at.brought.wait(held);
    if (at.stock == 0) co_return;
    --at.stock;
    ++at.taken;
  }
  static task<> give_up_again_and_again(market& at) {
    lengths drawn(31);
    while (at.impatient.total() < races) {
      auto first = co_await when_any_settled(take_when_told(at), nap(drawn.draw()));
      if (first.ok<0>()) ++at.impatient.won;
      else ++at.impatient.lost;
    }
    at.impatient.done = true;
  }
  static task<> wait_for_ever(market& at) {
    mutex::guard held = co_await at.m.lock();
    while (!at.closed) {
      if (at.stock > 0) {
        --at.stock;
        ++at.taken;
      } else {
        co_await at.brought.wait(held);
      }
    }
  }
  static task<bool> is_taken(market& at, int n) {
    const mutex::guard held = co_await at.m.lock();
    co_return at.taken == n;
  }
  static task<> bring(market& at, int& all) {
    lengths drawn(32);
    constexpr int looks_max = 100'000;
    for (bool received = true; received && !at.impatient.done;) {
      {
        const mutex::guard held = co_await at.m.lock();
        ++at.stock;
        at.brought.notify_one();
      }
      ++all;
      received = false;
      for (int looks = 0; !received && looks < looks_max; ++looks) {
        co_await nap(drawn.draw());
        received = co_await is_taken(at, all);
      }
      EXPECT_TRUE(received) << "the notification of piece " << all << " was lost";
    }
    const mutex::guard held = co_await at.m.lock();
    at.closed = true;
    at.brought.notify_all();
  }
};

TEST_P(state_races, AConditionLosesNoNotification) {
  market at(here());
  int brought = 0;
  rt().spawn_on(there(), market::give_up_again_and_again(at));
  rt().spawn_on(there(), market::wait_for_ever(at));
  rt().spawn_on(here(), market::bring(at, brought));
  rt().run();
  EXPECT_EQ(at.taken, brought);
  EXPECT_EQ(at.stock, 0);
  expect_both_happened(at.impatient);
}

}  // namespace
}  // namespace coracle::testing_support::state_races_test
