// shared_mutex: a reader-writer lock for tasks.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle {

/// A reader-writer lock. It has an owner loop (coro/impl/primitive.hpp): any task may await lock() and
/// lock_shared(), the try_ forms are for the owner loop, and a guard may be destroyed on any thread.
///
/// Order: first come, first served. Tasks that want shared locks and are adjacent in the queue get them
/// together. No task overtakes one that waits, so neither kind starves; therefore a task that holds a shared
/// lock and requests another may deadlock. Waiters resume through their own loop's queue, after the current
/// work item.
///
/// If a waiter's environment is stopped, its await throws coro::cancelled; tasks behind it that can be served
/// now are. A stop after the lock was granted does not take it back. A task that was requested to stop still
/// gets a lock that is available.
class shared_mutex : public coro::primitive<shared_mutex> {
 public:
  /// The kinds of locks.
  enum class mode : bool {
    exclusive,  ///< for one writer
    shared,  ///< for any number of readers
  };

  /// Owned by the loop it is made on; made on a plain thread, by the first loop whose task uses it.
  shared_mutex() noexcept = default;
  /// Owned by `owner_loop`.
  explicit shared_mutex(coro::executor& owner_loop) noexcept : primitive(owner_loop) {}
  ~shared_mutex() {
    const bool unlocking = close_remote_calls() && waiters_.empty();
    CORACLE_ASSERT(unlocking || (!has_writer_ && readers_ == 0),
                   "a shared_mutex was destroyed while locked: destroy its guards first");
  }

  /// Holds an exclusive or shared lock until it is destroyed or unlock() is called. Move-only; the mutex must
  /// outlive it.
  template <mode M>
  class [[nodiscard]] basic_guard {
   public:
    /// Holds no lock.
    basic_guard() noexcept = default;
    basic_guard(basic_guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    basic_guard& operator=(basic_guard&& other) noexcept {
      if (shared_mutex* before = std::exchange(mutex_, std::exchange(other.mutex_, nullptr)))
        before->unlock();
      return *this;
    }
    ~basic_guard() {
      if (mutex_) mutex_->unlock();
    }
    /// Releases the lock early. Throws usage_error if the guard holds no lock.
    void unlock() {
      CORACLE_REQUIRE(mutex_, "unlocked a guard that holds no lock: unlock each guard once, or let it end");
      std::exchange(mutex_, nullptr)->unlock();
    }
    /// Returns whether the guard holds a lock.
    explicit operator bool() const noexcept { return mutex_ != nullptr; }

   private:
    friend class shared_mutex;
    explicit basic_guard(shared_mutex& m) noexcept : mutex_(&m) {}
    shared_mutex* mutex_ = nullptr;
  };
  /// Holds an exclusive lock.
  using guard = basic_guard<mode::exclusive>;
  /// Holds a shared lock.
  using shared_guard = basic_guard<mode::shared>;

  /// @cond
  class lock_call : public coro::waiting_call<lock_call, shared_mutex> {
   public:
    lock_call(shared_mutex& m, mode kind) noexcept : waiting_call(m), kind_(kind) {}

   private:
    friend waiting_call;
    friend class shared_mutex;
    bool attempt() noexcept { return at().waiters_.empty() && at().take(kind_); }
    void on_stopped(coro::waiter& w) noexcept {
      w.resume_soon();
      at().grant();
    }
    const mode kind_;
  };
  template <mode M>
  class [[nodiscard]] lock_awaiter : public lock_call {
   public:
    explicit lock_awaiter(shared_mutex& m) noexcept : lock_call(m, M) {}
    basic_guard<M> await_resume() const {
      throw_if_stopped();
      return at().template held<M>();
    }
  };
  /// @endcond
  /// Waits for the exclusive lock and returns a guard.
  lock_awaiter<mode::exclusive> lock() noexcept { return lock_awaiter<mode::exclusive>(*this); }
  /// Waits for a shared lock and returns a guard.
  lock_awaiter<mode::shared> lock_shared() noexcept { return lock_awaiter<mode::shared>(*this); }

  /// Takes the exclusive lock, or returns an empty guard where lock() would wait. Throws usage_error off the
  /// owner loop.
  guard try_lock() { return try_take<mode::exclusive>(); }
  /// Takes a shared lock, or returns an empty guard where lock_shared() would wait. Throws usage_error off
  /// the owner loop.
  shared_guard try_lock_shared() { return try_take<mode::shared>(); }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  template <mode M>
  basic_guard<M> held() noexcept {
    return basic_guard<M>(*this);
  }
  template <mode M>
  basic_guard<M> try_take() {
    CORACLE_REQUIRE(on_owner_loop(),
                    "try_lock() of a shared_mutex on another loop than its owner loop: use co_await lock()");
    return waiters_.empty() && take(M) ? held<M>() : basic_guard<M>();
  }
  bool take(mode m) noexcept {
    if (has_writer_) return false;
    if (m == mode::shared) {
      ++readers_;
      return true;
    }
    if (readers_ != 0) return false;
    has_writer_ = true;
    return true;
  }
  void unlock() noexcept {
    if (on_owner_loop()) unlock_here(1);
    else post_remote_calls();
  }
  // Unlocks either kind: the two kinds are never held at the same time, and a lock counts as held until its
  // unlocking arrives.
  void unlock_here(std::size_t n) noexcept {
    if (has_writer_) has_writer_ = false;
    else readers_ -= n;
    if (!waiters_.empty()) grant();
  }
  void on_remote_calls(std::uint64_t n) noexcept { unlock_here(n); }
  void grant() noexcept;

  coro::waiter_queue waiters_;
  std::size_t readers_ = 0;
  bool has_writer_ = false;
};

}  // namespace coracle
