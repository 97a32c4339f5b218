// mutex: mutual exclusion between tasks, held across awaits.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstdint>
#include <utility>

namespace coracle {

class condition_variable;

/// Mutual exclusion between tasks. It has an owner loop (coro/impl/primitive.hpp): any task may await lock(),
/// try_lock() is for the owner loop, and a guard may be destroyed on any thread.
///
///     const coracle::mutex::guard held = co_await m.lock();
///
/// Tasks of one loop that do not await anything in between need no mutex: it is for state that must stay
/// consistent across an await, or that several loops share. A lock from another loop costs a round trip to
/// the owner loop, so data that several loops use often is better owned by one of them.
///
/// Order: first come, first served. Unlocking hands the mutex to the first waiter, and no other task can take
/// it in between. The waiter resumes through its own loop's queue, after the current work item.
///
/// If a waiter's environment is stopped, its await throws coro::cancelled and the waiter leaves the queue. A
/// stop after the mutex was handed to it does not undo that. A task that was requested to stop still gets a
/// mutex that is free.
class mutex : public coro::primitive<mutex> {
 public:
  /// Owned by the loop it is made on; made on a plain thread, by the first loop whose task uses it.
  mutex() noexcept = default;
  /// Owned by `owner_loop`.
  explicit mutex(coro::executor& owner_loop) noexcept : primitive(owner_loop) {}
  ~mutex() {
    const bool unlocking = close_remote_calls() && waiters_.empty();
    CORACLE_ASSERT(unlocking || !locked_, "a mutex was destroyed while locked: destroy its guards first");
  }

  /// Holds the lock until it is destroyed or unlock() is called. Move-only; the mutex must outlive it.
  class [[nodiscard]] guard {
   public:
    /// Holds no lock.
    guard() noexcept = default;
    guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    guard& operator=(guard&& other) noexcept {
      if (mutex* before = std::exchange(mutex_, std::exchange(other.mutex_, nullptr))) before->unlock();
      return *this;
    }
    ~guard() {
      if (mutex_) mutex_->unlock();
    }
    /// Releases the lock early. Throws usage_error if the guard holds no lock.
    void unlock() {
      CORACLE_REQUIRE(mutex_, "unlocked a guard that holds no lock: unlock each guard once, or let it end");
      std::exchange(mutex_, nullptr)->unlock();
    }
    /// Returns whether the guard holds the lock.
    explicit operator bool() const noexcept { return mutex_ != nullptr; }

   private:
    friend class mutex;
    friend class condition_variable;
    explicit guard(mutex& m) noexcept : mutex_(&m) {}
    mutex* mutex_ = nullptr;
  };

  /// @cond
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
  /// @endcond
  /// Waits until the mutex is free, locks it and returns a guard.
  lock_awaiter lock() noexcept { return lock_awaiter(*this); }

  /// Locks the mutex if it is free and returns a guard, which is empty otherwise. Does not wait. Throws
  /// usage_error off the owner loop.
  guard try_lock() {
    CORACLE_REQUIRE(on_owner_loop(),
                    "try_lock() of a mutex on another loop than its owner loop: use co_await lock()");
    return std::exchange(locked_, true) ? guard() : guard(*this);
  }
  /// Returns whether the mutex is locked. For the owner loop.
  [[nodiscard]] bool is_locked() const noexcept { return locked_; }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  friend class condition_variable;
  void unlock() noexcept {
    if (on_owner_loop()) unlock_here();
    else post_remote_calls();
  }
  void unlock_here() noexcept {
    if (coro::waiter* next = waiters_.pop_front()) next->resume_soon();  // the mutex stays locked
    else locked_ = false;
  }
  void on_remote_calls(std::uint64_t) noexcept { unlock_here(); }
  coro::waiter_queue waiters_;
  bool locked_ = false;
};

}  // namespace coracle
