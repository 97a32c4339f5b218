// wait_group: counts work that is under way; a task waits until none is.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle {

// Has a home loop (coro/impl/primitive.hpp): co_await from any task, add() and done() from any thread; an
// add() counts before every done() and await that come after it. Starts at zero, and may be used again
// when it is back there. For tasks whose errors and end matter, see scope.
//
// Waiters resume through their loop's queue, first come first served, after the work that called the
// last done(). They were released by that call: work that is added before they run does not make
// them wait again, and they do not look at the group any more, so it may be destroyed then, also by
// a waiter on another thread than the one that is done. A stop of a waiter's environment throws
// coro::cancelled out of its await and leaves the count as it is. Awaiting a group at zero at home does
// not suspend.
class wait_group : public coro::primitive<wait_group> {
  // Calls from elsewhere add up in two halves of a word.
  static constexpr std::uint64_t one_add = std::uint64_t{1} << 32;

 public:
  wait_group() noexcept = default;
  explicit wait_group(coro::executor& home) noexcept : primitive(home) {}
  ~wait_group() {
    leave_home();
    CORACLE_ASSERT(waiters_.empty(), "a wait_group was destroyed while tasks wait for it: join them first");
  }

  // At most 2^32 - 1 at a time.
  void add(std::size_t n = 1) {
    CORACLE_REQUIRE(n < one_add, "wait_group::add() of 2^32 or more at once: add less at a time");
    if (at_home()) count_ += n;
    else call_home(n * one_add);
  }
  void done() noexcept {
    // What would be the last one goes behind the calls that are on their way: an add() may be among them.
    if (at_home() && (count_ > 1 || !calls_under_way())) done_here(1);
    else call_home();
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

  class awaiter : public coro::waiting_call<awaiter, wait_group> {
   public:
    using waiting_call::waiting_call;
    void await_resume() const { throw_if_stopped(); }

   private:
    friend waiting_call;
    bool attempt() const noexcept { return at().count_ == 0 && !at().calls_under_way(); }
  };
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  void done_here(std::size_t n) noexcept {
    CORACLE_ASSERT(n <= count_,
                   "wait_group::done() without add(): add before the work starts, once for each done");
    count_ -= n;
    if (count_ == 0) coro::resume_all(waiters_);
  }
  void called_from_elsewhere(std::uint64_t n) noexcept {
    count_ += n / one_add;
    done_here(n % one_add);
  }
  coro::waiter_queue waiters_;
  std::size_t count_ = 0;
};

}  // namespace coracle
