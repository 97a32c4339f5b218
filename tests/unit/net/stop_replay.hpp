// stop_replay: replays a program and requests a stop at its 1st, 2nd, ... last co_await: whatever it waits
// for then, it ends, and nothing of it remains: no frame, no object, no operation for which the kernel may
// still write.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/impl/task_tree.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/on.hpp"
#include "runtime/backend.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <utility>

namespace coracle::testing_support {

// The live objects of the program: one in each of its coroutines.
using ledger = std::atomic<int>;
class counted {
 public:
  explicit counted(ledger& alive) noexcept : alive_(alive) { ++alive_; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive_; }

 private:
  ledger& alive_;
};

// A part of a program may end with coro::cancelled at each of its awaits; any other exception is a failure.
using program = task<> (*)(ledger&);
inline void expect_good(const status& ended) {
  if (ended.code() == status_code::cancelled) throw coro::cancelled();
  EXPECT_TRUE(ended.ok()) << ended;
}
template <class T>
T good_value(result<T> ended) {
  expect_good(ended.status());
  return std::move(ended).value();
}

// Requests a stop of a scope at the n-th co_await of the thread: either before it begins, so that it finds
// the stop requested, or right after the work that it belongs to, while it waits.
class stop_at final : coro::await_observer, coro::runnable {
 public:
  stop_at(scope& stopped, std::size_t n, bool waiting) : stopped_(stopped), left_(n), waiting_(waiting) {
    run = [](coro::runnable& w) noexcept {
      auto& self = static_cast<stop_at&>(w);
      self.posted_ = false;
      self.stopped_.request_stop();
    };
    before_ = coro::await_observer::exchange(this);
  }
  ~stop_at() { coro::await_observer::exchange(before_); }
  [[nodiscard]] bool reached() const noexcept { return left_ == 0; }
  [[nodiscard]] bool pending() const noexcept { return posted_; }

 private:
  void awaiting(const std::source_location&) noexcept override {
    if (left_ == 0 || --left_ > 0) return;
    if (!waiting_) return stopped_.request_stop();
    posted_ = true;
    loop::current()->post(*this);
  }
  scope& stopped_;
  std::size_t left_;
  const bool waiting_;
  bool posted_ = false;
  coro::await_observer* before_;
};

// Awaits are counted on the first loop, where the program begins.
class stop_replay : public every_backend {
 protected:
  explicit stop_replay(std::size_t loops = 1) : every_backend(loops) {}

  // `awaits_min`: a program with fewer awaits has shrunk.
  void replay(program p, bool waiting, std::size_t awaits_min) {
    std::size_t n = 1;
    for (;; ++n) {
      const outcome_of_run out = run(run_stopped(p, n, waiting));
      if (HasFailure()) return;
      if (out.reached) continue;
      EXPECT_TRUE(out.whole) << "nothing stopped it";
      break;
    }
    EXPECT_GT(n, awaits_min) << "the program has shrunk";
    RecordProperty("awaits", static_cast<int>(n - 1));
  }
  void replay_both(program p, std::size_t awaits_min) {
    replay(p, false, awaits_min);
    replay(p, true, awaits_min);
  }

 private:
  struct outcome_of_run {
    bool reached = false;  // an n-th await exists
    bool whole = false;  // the program has ended
  };
  static task<> whole_program(program p, ledger& alive, bool& whole) {
    co_await p(alive);
    whole = true;
  }
  static task<std::uint64_t> in_flight_here() { co_return loop::current()->io().stats().in_flight; }
  static task<std::uint64_t> in_flight_on_all_loops() {
    runtime& rt = loop::current()->owner();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i != rt.size(); ++i) sum += co_await on(rt.at(i), in_flight_here());
    co_return sum;
  }
  static task<> stop_and_join(program p, ledger& alive, std::size_t n, bool waiting, outcome_of_run& out) {
    scope outer{co_await coro::this_environment()};
    stop_at observer(outer, n, waiting);
    outer.spawn(whole_program(p, alive, out.whole));
    try {
      co_await outer.join();
    } catch (const coro::cancelled&) {
      EXPECT_TRUE(observer.reached());
    }
    while (observer.pending()) co_await sleep_for(std::chrono::nanoseconds(0));
    out.reached = observer.reached();
  }
  static task<outcome_of_run> run_stopped(program p, std::size_t n, bool waiting) {
    outcome_of_run out;
    ledger alive = 0;
    const std::uint64_t before = co_await in_flight_on_all_loops();
    co_await stop_and_join(p, alive, n, waiting, out);
    EXPECT_EQ(alive, 0) << "coroutines of the program are left after a stop at await " << n;
    // The ends of timers and jobs have passed; an operation in flight would write into freed memory.
    const std::uint64_t after = co_await in_flight_on_all_loops();
    EXPECT_EQ(after, before) << "operations are left after a stop at await " << n;
    co_return out;
  }
};

}  // namespace coracle::testing_support
