// latch: releases its waiters when its count reaches zero; single use.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle {

/// A counter that releases all waiters when it reaches zero. It has an owner loop (coro/impl/primitive.hpp):
/// any task may co_await it, and count_down() may be called on any thread. A latch cannot count up;
/// wait_group can.
///
/// Waiters resume through their own loop's queue, first come, first served, after the work item that counted
/// down to zero. They do not access the latch any more, so it may be destroyed as soon as it is open, even by
/// a waiter on another thread than the one that counts down: that call no longer uses the latch then. If a
/// waiter's environment is stopped, its await throws coro::cancelled and the count does not change. Awaiting
/// an open latch does not suspend on the owner loop.
class latch : public coro::primitive<latch> {
 public:
  /// A latch that opens after `count` calls of count_down(); 0: it is open. Owned by the loop it is made on,
  /// or, made on a plain thread, by the first loop whose task uses it.
  explicit latch(std::size_t count) noexcept : count_(count) {}
  /// The same, owned by `owner_loop`.
  latch(std::size_t count, coro::executor& owner_loop) noexcept : primitive(owner_loop), count_(count) {}
  ~latch() {
    close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(), "a latch was destroyed while tasks wait for it: join them first");
  }

  /// Decrements the count by n. Does not wait. Counting below zero is a defect of the caller and aborts.
  void count_down(std::size_t n = 1) noexcept {
    if (on_owner_loop()) count_down_here(n);
    else post_remote_calls(n);
  }
  /// Returns whether the count is zero. For the owner loop.
  [[nodiscard]] bool is_open() const noexcept { return count_ == 0; }
  /// Returns the present count. For the owner loop.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Counts down by one when it is destroyed, on every path out of a task.
  class [[nodiscard]] arrival {
   public:
    /// `l` must outlive the arrival.
    explicit arrival(latch& l) noexcept : latch_(l) {}
    arrival(const arrival&) = delete;
    arrival& operator=(const arrival&) = delete;
    ~arrival() { latch_.count_down(); }

   private:
    latch& latch_;
  };

  /// @cond
  class awaiter : public coro::waiting_call<awaiter, latch> {
   public:
    using waiting_call::waiting_call;
    void await_resume() const { throw_if_stopped(); }

   private:
    friend waiting_call;
    bool attempt() const noexcept { return at().is_open(); }
  };
  /// @endcond
  /// Waits until the latch is open.
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  void count_down_here(std::size_t n) noexcept {
    CORACLE_ASSERT(n <= count_,
                   "a latch was counted down below zero: construct it with the number of all arrivals");
    count_ -= n;
    if (count_ == 0) coro::resume_all(waiters_);
  }
  void on_remote_calls(std::uint64_t n) noexcept { count_down_here(n); }
  coro::waiter_queue waiters_;
  std::size_t count_;
};

}  // namespace coracle
