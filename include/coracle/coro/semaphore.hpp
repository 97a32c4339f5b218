// semaphore: a counting semaphore for coroutines.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle {

/// A counting semaphore. It has an owner loop (coro/impl/primitive.hpp): any task may await acquire() and
/// acquire_guard(), release() may be called on any thread, try_acquire() and try_acquire_guard() are for the
/// owner loop, and a guard may be destroyed on any thread.
///
///     const coracle::semaphore::guard held = co_await s.acquire_guard();   // one permit, until `held` ends
///
/// A guard releases the permits it has acquired, also when an exception leaves its scope. acquire() is for
/// permits that another part of the program releases: release() needs no acquire() before it, and adds
/// permits.
///
/// Order: first come, first served, independent of the number of permits: a task that waits for many is not
/// overtaken by tasks that want few, nor by try_acquire(). Waiters resume through their own loop's queue,
/// after the current work item.
///
/// If a waiter's environment is stopped, its await throws coro::cancelled and has taken no permit; tasks
/// behind it whose requests can be satisfied now get their permits. A stop after the permits were granted
/// does not take them back. A task that was requested to stop still gets permits that are available.
class semaphore : public coro::primitive<semaphore> {
 public:
  /// A semaphore with `permits` available permits. Owned by the loop it is made on, or, made on a plain
  /// thread, by the first loop whose task uses it.
  explicit semaphore(std::size_t permits) noexcept : permits_(permits) {}
  /// The same, owned by `owner_loop`.
  semaphore(std::size_t permits, coro::executor& owner_loop) noexcept
      : primitive(owner_loop), permits_(permits) {}
  ~semaphore() {
    close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(), "a semaphore was destroyed while tasks wait for it: join them first");
  }

  /// Holds permits until it is destroyed or release() is called. Move-only; the semaphore must outlive it.
  class [[nodiscard]] guard {
   public:
    /// Holds no permits.
    guard() noexcept = default;
    guard(guard&& other) noexcept
        : semaphore_(std::exchange(other.semaphore_, nullptr)), permits_(other.permits_) {}
    guard& operator=(guard&& other) noexcept {
      const std::size_t permits = std::exchange(permits_, other.permits_);
      if (semaphore* before = std::exchange(semaphore_, std::exchange(other.semaphore_, nullptr)))
        before->release(permits);
      return *this;
    }
    ~guard() {
      if (semaphore_) semaphore_->release(permits_);
    }
    /// Releases the permits early. Throws usage_error if the guard holds none.
    void release() {
      CORACLE_REQUIRE(semaphore_,
                      "released a guard that holds no permits: release each guard once, or let it end");
      std::exchange(semaphore_, nullptr)->release(permits_);
    }
    /// Returns whether the guard holds permits.
    explicit operator bool() const noexcept { return semaphore_ != nullptr; }

   private:
    friend class semaphore;
    guard(semaphore& s, std::size_t n) noexcept : semaphore_(&s), permits_(n) {}
    semaphore* semaphore_ = nullptr;
    std::size_t permits_ = 0;
  };

  /// @cond
  class acquire_call : public coro::waiting_call<acquire_call, semaphore> {
   public:
    acquire_call(semaphore& s, std::size_t n) noexcept : waiting_call(s), permits_wanted_(n) {}

   protected:
    const std::size_t permits_wanted_;

   private:
    friend waiting_call;
    friend class semaphore;
    bool attempt() noexcept { return at().take(permits_wanted_); }
    void on_stopped(coro::waiter& w) noexcept {
      w.resume_soon();
      at().grant();
    }
  };
  class [[nodiscard]] acquire_awaiter : public acquire_call {
   public:
    using acquire_call::acquire_call;
    void await_resume() const { throw_if_stopped(); }
  };
  class [[nodiscard]] acquire_guard_awaiter : public acquire_call {
   public:
    using acquire_call::acquire_call;
    guard await_resume() const {
      throw_if_stopped();
      return at().held(permits_wanted_);
    }
  };
  /// @endcond
  /// Waits until n permits are available and takes them.
  acquire_awaiter acquire(std::size_t n = 1) noexcept { return {*this, n}; }
  /// Like acquire(), but returns a guard that releases the permits.
  acquire_guard_awaiter acquire_guard(std::size_t n = 1) noexcept { return {*this, n}; }

  /// Takes n permits if they are available and no task waits; returns whether it did. Throws usage_error off
  /// the owner loop.
  [[nodiscard]] bool try_acquire(std::size_t n = 1) {
    CORACLE_REQUIRE(on_owner_loop(),
                    "try_acquire() on another loop than the semaphore's owner loop: use co_await acquire()");
    return take(n);
  }
  /// Like try_acquire(), but returns a guard, which is empty where try_acquire() would return false.
  guard try_acquire_guard(std::size_t n = 1) { return try_acquire(n) ? held(n) : guard(); }
  /// Adds n permits and wakes the waiters whose requests can be satisfied. Does not wait.
  void release(std::size_t n = 1) noexcept {
    if (on_owner_loop()) release_here(n);
    else post_remote_calls(n);
  }
  /// Returns the number of permits that try_acquire() could take if no task waits. For the owner loop.
  [[nodiscard]] std::size_t available() const noexcept { return permits_; }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  guard held(std::size_t n) noexcept { return {*this, n}; }
  bool take(std::size_t n) noexcept {
    if (permits_ < n || !waiters_.empty()) return false;
    permits_ -= n;
    return true;
  }
  void release_here(std::size_t n) noexcept {
    permits_ += n;
    if (!waiters_.empty()) grant();
  }
  void on_remote_calls(std::uint64_t n) noexcept { release_here(n); }
  void grant() noexcept;
  coro::waiter_queue waiters_;
  std::size_t permits_;
};

}  // namespace coracle
