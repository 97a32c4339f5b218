// wait_group: counts work in progress; tasks wait until the count is zero.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle {

/// Counts work in progress; tasks wait until the count is zero. It has an owner loop
/// (coro/impl/primitive.hpp): any task may co_await it, and add() and done() may be called on any thread. An
/// add() takes effect before every done() and await that follow it. The count starts at zero, and the group
/// can be reused when the count is zero again. For tasks whose errors and end matter, see scope.
///
/// Waiters resume through their own loop's queue, first come, first served, after the work item that called
/// the last done(). That call has released them: work that is added before they run does not make them wait
/// again. They do not access the group any more, so it may be destroyed then, even by a waiter on another
/// thread than the one that called done(). If a waiter's environment is stopped, its await throws
/// coro::cancelled and the count does not change. Awaiting a group whose count is zero does not suspend on
/// the owner loop.
class wait_group : public coro::primitive<wait_group> {
  // Calls from other loops are summed in the two halves of one word: adds in the upper, dones in the lower.
  static constexpr std::uint64_t one_add = std::uint64_t{1} << 32;

 public:
  /// Owned by the loop it is made on; made on a plain thread, by the first loop whose task uses it.
  wait_group() noexcept = default;
  /// Owned by `owner_loop`.
  explicit wait_group(coro::executor& owner_loop) noexcept : primitive(owner_loop) {}
  ~wait_group() {
    close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(), "a wait_group was destroyed while tasks wait for it: join them first");
  }

  /// Adds n to the count; n is at most 2^32 - 1, else throws usage_error. Does not wait.
  void add(std::size_t n = 1) {
    CORACLE_REQUIRE(n < one_add, "wait_group::add() of 2^32 or more: add fewer at a time");
    if (on_owner_loop()) count_ += n;
    else post_remote_calls(n * one_add);
  }
  /// Subtracts one from the count. Does not wait. Subtracting below zero is a defect of the caller and
  /// aborts.
  void done() noexcept {
    // A done() that could be the last one is posted after the calls in flight, since an add() may be among
    // them.
    if (on_owner_loop() && (count_ > 1 || !has_pending_calls())) done_here(1);
    else post_remote_calls();
  }
  /// Returns the present count. For the owner loop.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Adds one when it is constructed, before the work starts, and calls done() when it is destroyed.
  class [[nodiscard]] member {
   public:
    /// Adds one to `g`, which must outlive the member.
    explicit member(wait_group& g) noexcept : group_(g) { group_.add(); }
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member() { group_.done(); }

   private:
    wait_group& group_;
  };

  /// @cond
  class awaiter : public coro::waiting_call<awaiter, wait_group> {
   public:
    using waiting_call::waiting_call;
    void await_resume() const { throw_if_stopped(); }

   private:
    friend waiting_call;
    bool attempt() const noexcept { return at().count_ == 0 && !at().has_pending_calls(); }
  };
  /// @endcond
  /// Waits until the count is zero.
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  void done_here(std::size_t n) noexcept {
    CORACLE_ASSERT(n <= count_,
                   "wait_group::done() without add(): call add() before the work starts, once per done()");
    count_ -= n;
    if (count_ == 0) coro::resume_all(waiters_);
  }
  void on_remote_calls(std::uint64_t n) noexcept {
    count_ += n / one_add;
    done_here(n % one_add);
  }
  coro::waiter_queue waiters_;
  std::size_t count_ = 0;
};

}  // namespace coracle
