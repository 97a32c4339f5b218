// mutex: one task at a time, across awaits.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <optional>
#include <utility>

namespace coracle {

class condition_variable;

// Lives on one loop, whose tasks alone may call it; nothing is atomic. Tasks that run without
// awaiting anything in between need none: it is for what has to stay whole across an await.
//
//   const coracle::mutex::guard held = co_await m.lock();
//
// Order: first come, first served; unlocking hands the mutex to the first waiter, and nobody gets
// between. The waiter resumes through the loop's queue, after the current work.
// A stop of a waiter's environment throws coro::cancelled out of its await and leaves the queue as
// if it had never waited; a stop after the mutex was handed to it does not take that back. A free
// mutex is locked even by a task that was asked to stop.
class mutex {
 public:
  mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() { CORACLE_ASSERT(!locked_, "a mutex was destroyed while locked: destroy its guards first"); }

  // Holds the lock until it is destroyed, or unlock(). Move only; the mutex must outlive it.
  class [[nodiscard]] guard {
   public:
    guard() noexcept = default;
    guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    guard& operator=(guard&& other) noexcept {
      if (mutex* before = std::exchange(mutex_, std::exchange(other.mutex_, nullptr))) before->unlock();
      return *this;
    }
    ~guard() {
      if (mutex_) mutex_->unlock();
    }
    void unlock() noexcept {
      CORACLE_ASSERT(mutex_, "unlocked a guard that holds no lock: unlock each guard once, or let it end");
      std::exchange(mutex_, nullptr)->unlock();
    }
    explicit operator bool() const noexcept { return mutex_ != nullptr; }

   private:
    friend class mutex;
    friend class condition_variable;
    explicit guard(mutex& m) noexcept : mutex_(&m) {}
    mutex* mutex_ = nullptr;
  };

  class [[nodiscard]] lock_awaiter {
   public:
    explicit lock_awaiter(mutex& m) noexcept : mutex_(m) {}
    [[nodiscard]] bool await_ready() noexcept { return !std::exchange(mutex_.locked_, true); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace().start(mutex_.waiters_, h, coro::environment_of(h).stop);
    }
    guard await_resume() {
      if (wait_) wait_->throw_if_stopped();
      return guard(mutex_);
    }

   private:
    mutex& mutex_;
    std::optional<coro::waiter> wait_;
  };
  lock_awaiter lock() noexcept { return lock_awaiter(*this); }

  // An empty guard where somebody holds the lock; does not wait.
  guard try_lock() noexcept { return std::exchange(locked_, true) ? guard() : guard(*this); }
  [[nodiscard]] bool is_locked() const noexcept { return locked_; }

 private:
  friend class condition_variable;
  void unlock() noexcept {
    if (coro::waiter* next = waiters_.pop_front()) next->resume_soon();  // and it stays locked
    else locked_ = false;
  }
  coro::waiter_queue waiters_;
  bool locked_ = false;
};

}  // namespace coracle
