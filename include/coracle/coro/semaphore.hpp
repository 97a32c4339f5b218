// semaphore: so many permits; a task takes some or waits until there are enough.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/primitive.hpp"
#include "coracle/coro/waiting_call.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle {

// Has a home loop (coro/primitive.hpp): acquire() from any task, release() from any thread, try_acquire()
// at home. Permits belong to nobody: whoever has work for one more calls release(), also without
// acquire() before it.
//
// Order: first come, first served, however many permits each wants: one that waits for many is not
// overtaken by those that want few, nor by try_acquire(). Waiters resume through their
// loop's queue, after the current work.
// A stop of a waiter's environment throws coro::cancelled out of its await; it has taken no permit,
// and those behind it that fit now get theirs. A stop after the permits were granted does not take
// them back. A task that was asked to stop still gets permits that are there.
class semaphore : public coro::primitive<semaphore> {
 public:
  explicit semaphore(std::size_t permits) noexcept : permits_(permits) {}
  semaphore(std::size_t permits, coro::executor& home) noexcept : primitive(home), permits_(permits) {}
  ~semaphore() {
    leave_home();
    CORACLE_ASSERT(waiters_.empty(), "a semaphore was destroyed while tasks wait for it: join them first");
  }

  class [[nodiscard]] acquire_awaiter : public coro::waiting_call<acquire_awaiter, semaphore> {
   public:
    acquire_awaiter(semaphore& s, std::size_t n) noexcept : waiting_call(s), wanted_(n) {}
    void await_resume() const { throw_if_stopped(); }

   private:
    friend waiting_call;
    friend class semaphore;
    bool attempt() noexcept { return at().take(wanted_); }
    void abandoned(coro::waiter& w) noexcept {
      w.resume_soon();
      at().grant();
    }
    const std::size_t wanted_;
  };
  acquire_awaiter acquire(std::size_t n = 1) noexcept { return {*this, n}; }

  // Takes n permits if they are there and nobody waits.
  [[nodiscard]] bool try_acquire(std::size_t n = 1) noexcept {
    CORACLE_ASSERT(at_home(), "try_acquire() away from the semaphore's home loop: co_await acquire() there");
    return take(n);
  }
  void release(std::size_t n = 1) noexcept {
    if (at_home()) release_here(n);
    else call_home(n);
  }
  // What try_acquire() could take if nobody waits.
  [[nodiscard]] std::size_t available() const noexcept { return permits_; }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  bool take(std::size_t n) noexcept {
    if (permits_ < n || !waiters_.empty()) return false;
    permits_ -= n;
    return true;
  }
  void release_here(std::size_t n) noexcept {
    permits_ += n;
    if (!waiters_.empty()) grant();
  }
  void called_from_elsewhere(std::uint64_t n) noexcept { release_here(n); }
  void grant() noexcept;
  coro::waiter_queue waiters_;
  std::size_t permits_;
};

}  // namespace coracle
