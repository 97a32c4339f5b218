// latch: opens for good when it has been counted down to zero.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic. It does not go back: for
// counting up again there is wait_group.
//
// Waiters resume through the loop's queue, first come first served, after the work that counted to
// zero; they do not look at the latch any more, so it may be destroyed as soon as it is open.
// A stop of a waiter's environment throws coro::cancelled out of its await and leaves the count as
// it is. Awaiting an open latch does not suspend.
class latch {
 public:
  explicit latch(std::size_t count) noexcept : count_(count) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;
  ~latch() {
    CORACLE_ASSERT(waiters_.empty(), "a latch was destroyed while tasks wait for it: join them first");
  }

  void count_down(std::size_t n = 1) noexcept {
    CORACLE_ASSERT(n <= count_, "a latch was counted down below zero: give it the number of all arrivals");
    count_ -= n;
    if (count_ == 0) open();
  }
  [[nodiscard]] bool is_open() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Counts down by one when it is destroyed, on every path out of a task.
  class [[nodiscard]] arrival {
   public:
    explicit arrival(latch& l) noexcept : latch_(l) {}
    arrival(const arrival&) = delete;
    arrival& operator=(const arrival&) = delete;
    ~arrival() { latch_.count_down(); }

   private:
    latch& latch_;
  };

  class awaiter {
   public:
    explicit awaiter(latch& l) noexcept : latch_(l) {}
    [[nodiscard]] bool await_ready() const noexcept { return latch_.is_open(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace().start(latch_.waiters_, h, coro::environment_of(h).stop);
    }
    void await_resume() const {
      if (wait_) wait_->throw_if_stopped();
    }

   private:
    latch& latch_;
    std::optional<coro::waiter> wait_;
  };
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  void open() noexcept {
    while (coro::waiter* w = waiters_.pop_front()) w->resume_soon();
  }
  coro::waiter_queue waiters_;
  std::size_t count_;
};

}  // namespace coracle
