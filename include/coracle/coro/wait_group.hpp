// wait_group: counts work that is under way; a task waits until none is.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic. Starts at zero, and may be
// used again when it is back there. For tasks whose errors and end matter, see scope.
//
// Waiters resume through the loop's queue, first come first served, after the work that called the
// last done(). They were released by that call: work that is added before they run does not make
// them wait again. A stop of a waiter's environment throws coro::cancelled out of its await and
// leaves the count as it is. Awaiting a group at zero does not suspend.
class wait_group {
 public:
  wait_group() noexcept = default;
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;
  ~wait_group() {
    CORACLE_ASSERT(waiters_.empty(), "a wait_group was destroyed while tasks wait for it: join them first");
  }

  void add(std::size_t n = 1) noexcept { count_ += n; }
  void done() noexcept {
    CORACLE_ASSERT(count_ != 0,
                   "wait_group::done() without add(): add before the work starts, once for each done");
    if (--count_ == 0) release();
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // Adds one when it is made, before the work starts, and is done when it is destroyed.
  class [[nodiscard]] member {
   public:
    explicit member(wait_group& g) noexcept : group_(g) { group_.add(); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { group_.done(); }

   private:
    wait_group& group_;
  };

  class awaiter {
   public:
    explicit awaiter(wait_group& g) noexcept : group_(g) {}
    [[nodiscard]] bool await_ready() const noexcept { return group_.count_ == 0; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace().start(group_.waiters_, h, coro::environment_of(h).stop);
    }
    void await_resume() const {
      if (wait_) wait_->throw_if_stopped();
    }

   private:
    wait_group& group_;
    std::optional<coro::waiter> wait_;
  };
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  void release() noexcept {
    while (coro::waiter* w = waiters_.pop_front()) w->resume_soon();
  }
  coro::waiter_queue waiters_;
  std::size_t count_ = 0;
};

}  // namespace coracle
