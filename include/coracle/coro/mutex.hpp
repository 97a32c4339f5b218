// mutex: one task at a time, across awaits.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstdint>
#include <utility>

namespace coracle {

class condition_variable;

// Has a home loop (coro/impl/primitive.hpp): lock() from any task, try_lock() at home; a guard may end on any
// thread. Tasks of one loop that run without awaiting anything in between need none: it is for what
// has to stay whole across an await, or is shared between loops. (A lock from another loop costs a
// trip to the home and back: data that several loops use often is better kept by one of them.)
//
//   const coracle::mutex::guard held = co_await m.lock();
//
// Order: first come, first served; unlocking hands the mutex to the first waiter, and nobody gets
// between. The waiter resumes through its loop's queue, after the current work.
// A stop of a waiter's environment throws coro::cancelled out of its await and leaves the queue as
// if it had never waited; a stop after the mutex was handed to it does not take that back. A free
// mutex is locked even by a task that was asked to stop.
class mutex : public coro::primitive<mutex> {
 public:
  mutex() noexcept = default;
  explicit mutex(coro::executor& home) noexcept : primitive(home) {}
  ~mutex() {
    const bool unlocking = leave_home() && waiters_.empty();
    CORACLE_ASSERT(unlocking || !locked_, "a mutex was destroyed while locked: destroy its guards first");
  }

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
    void unlock() {
      CORACLE_REQUIRE(mutex_, "unlocked a guard that holds no lock: unlock each guard once, or let it end");
      std::exchange(mutex_, nullptr)->unlock();
    }
    explicit operator bool() const noexcept { return mutex_ != nullptr; }

   private:
    friend class mutex;
    friend class condition_variable;
    explicit guard(mutex& m) noexcept : mutex_(&m) {}
    mutex* mutex_ = nullptr;
  };

  class [[nodiscard]] lock_awaiter : public coro::waiting_call<lock_awaiter, mutex> {
   public:
    using waiting_call::waiting_call;
    guard await_resume() const {
      throw_if_stopped();
      return guard(at());
    }

   private:
    friend waiting_call;
    bool attempt() noexcept { return !std::exchange(at().locked_, true); }
  };
  lock_awaiter lock() noexcept { return lock_awaiter(*this); }

  // An empty guard where somebody holds the lock; does not wait.
  guard try_lock() {
    CORACLE_REQUIRE(at_home(), "try_lock() of a mutex away from its home loop: co_await lock() there");
    return std::exchange(locked_, true) ? guard() : guard(*this);
  }
  [[nodiscard]] bool is_locked() const noexcept { return locked_; }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  friend class condition_variable;
  void unlock() noexcept {
    if (at_home()) unlock_here();
    else call_home();
  }
  void unlock_here() noexcept {
    if (coro::waiter* next = waiters_.pop_front()) next->resume_soon();  // and it stays locked
    else locked_ = false;
  }
  void called_from_elsewhere(std::uint64_t) noexcept { unlock_here(); }
  coro::waiter_queue waiters_;
  bool locked_ = false;
};

}  // namespace coracle
