// semaphore: so many permits; a task takes some or waits until there are enough.
#pragma once

#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic. Permits belong to nobody:
// whoever has work for one more calls release(), also without acquire() before it.
//
// Order: first come, first served, however many permits each wants: one that waits for many is not
// overtaken by those that want few, nor by try_acquire(). Waiters resume through the loop's
// queue, after the current work.
// A stop of a waiter's environment throws coro::cancelled out of its await; it has taken no permit,
// and those behind it that fit now get theirs. A stop after the permits were granted does not take
// them back. A task that was asked to stop still gets permits that are there.
class semaphore {
 public:
  explicit semaphore(std::size_t permits) noexcept : permits_(permits) {}
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;
  ~semaphore();

  class [[nodiscard]] acquire_awaiter {
   public:
    acquire_awaiter(semaphore& s, std::size_t n) noexcept : semaphore_(s), wanted_(n) {}
    [[nodiscard]] bool await_ready() noexcept { return semaphore_.try_acquire(wanted_); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace(semaphore_, wanted_).start(semaphore_.waiters_, h, coro::environment_of(h).stop);
    }
    void await_resume() const {
      if (wait_) wait_->throw_if_stopped();
    }

   private:
    friend class semaphore;
    struct waiter : coro::waiter {
      waiter(semaphore& s, std::size_t n) noexcept : coro::waiter(&semaphore::left), owner(s), wanted(n) {}
      semaphore& owner;
      const std::size_t wanted;
    };
    semaphore& semaphore_;
    std::size_t wanted_;
    std::optional<waiter> wait_;
  };
  acquire_awaiter acquire(std::size_t n = 1) noexcept { return {*this, n}; }

  // Takes n permits if they are there and nobody waits.
  [[nodiscard]] bool try_acquire(std::size_t n = 1) noexcept {
    if (permits_ < n || !waiters_.empty()) return false;
    permits_ -= n;
    return true;
  }
  void release(std::size_t n = 1) noexcept {
    permits_ += n;
    if (!waiters_.empty()) grant();
  }
  // What try_acquire() could take if nobody waits.
  [[nodiscard]] std::size_t available() const noexcept { return permits_; }

 private:
  static void left(coro::waiter& w) noexcept;
  void grant() noexcept;
  coro::waiter_queue waiters_;
  std::size_t permits_;
};

}  // namespace coracle
