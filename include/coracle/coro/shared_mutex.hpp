// shared_mutex: many tasks that look, or one that changes.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>
#include <utility>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic.
//
// Order: first come, first served. Those that share and stand next to each other in the queue get it
// together; nobody overtakes a task that waits, so neither kind starves. A task that holds a
// share and asks for another may therefore wait for itself. Waiters resume through the loop's
// queue, after the current work.
// A stop of a waiter's environment throws coro::cancelled out of its await; those behind it that
// fit now get their turn. A stop after the lock was granted does not take it back. A task that was
// asked to stop still gets a lock that is free for it.
class shared_mutex {
 public:
  enum class mode : bool { exclusive, shared };

  shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex() {
    CORACLE_ASSERT(!changing_ && looking_ == 0,
                   "a shared_mutex was destroyed while locked: destroy its guards first");
  }

  // Holds the lock, or a share of it, until it is destroyed, or unlock(). Move only; the mutex must
  // outlive it.
  template <mode M>
  class [[nodiscard]] basic_guard {
   public:
    basic_guard() noexcept = default;
    basic_guard(basic_guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    basic_guard& operator=(basic_guard&& other) noexcept {
      if (shared_mutex* before = std::exchange(mutex_, std::exchange(other.mutex_, nullptr)))
        before->unlock(M);
      return *this;
    }
    ~basic_guard() {
      if (mutex_) mutex_->unlock(M);
    }
    void unlock() noexcept {
      CORACLE_ASSERT(mutex_, "unlocked a guard that holds no lock: unlock each guard once, or let it end");
      std::exchange(mutex_, nullptr)->unlock(M);
    }
    explicit operator bool() const noexcept { return mutex_ != nullptr; }

   private:
    friend class shared_mutex;
    explicit basic_guard(shared_mutex& m) noexcept : mutex_(&m) {}
    shared_mutex* mutex_ = nullptr;
  };
  using guard = basic_guard<mode::exclusive>;
  using shared_guard = basic_guard<mode::shared>;

 private:
  class waiter : public coro::waiter {
   public:
    waiter(shared_mutex& m, mode k) noexcept : coro::waiter(&shared_mutex::left), owner(m), kind(k) {}
    shared_mutex& owner;
    const mode kind;
  };

 public:
  template <mode M>
  class [[nodiscard]] lock_awaiter {
   public:
    explicit lock_awaiter(shared_mutex& m) noexcept : mutex_(m) {}
    [[nodiscard]] bool await_ready() noexcept { return mutex_.waiters_.empty() && mutex_.take(M); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace(mutex_, M).start(mutex_.waiters_, h, coro::environment_of(h).stop);
    }
    basic_guard<M> await_resume() {
      if (wait_) wait_->throw_if_stopped();
      return mutex_.held<M>();
    }

   private:
    shared_mutex& mutex_;
    std::optional<waiter> wait_;
  };
  lock_awaiter<mode::exclusive> lock() noexcept { return lock_awaiter<mode::exclusive>(*this); }
  lock_awaiter<mode::shared> lock_shared() noexcept { return lock_awaiter<mode::shared>(*this); }

  // An empty guard where lock() or lock_shared() would wait.
  guard try_lock() noexcept { return try_take<mode::exclusive>(); }
  shared_guard try_lock_shared() noexcept { return try_take<mode::shared>(); }

 private:
  template <mode M>
  basic_guard<M> held() noexcept {
    return basic_guard<M>(*this);
  }
  template <mode M>
  basic_guard<M> try_take() noexcept {
    return waiters_.empty() && take(M) ? held<M>() : basic_guard<M>();
  }
  bool take(mode m) noexcept {
    if (changing_) return false;
    if (m == mode::shared) {
      ++looking_;
      return true;
    }
    if (looking_ != 0) return false;
    changing_ = true;
    return true;
  }
  void unlock(mode m) noexcept {
    if (m == mode::shared) --looking_;
    else changing_ = false;
    if (!waiters_.empty()) grant();
  }
  static void left(coro::waiter& w) noexcept;
  void grant() noexcept;

  coro::waiter_queue waiters_;
  std::size_t looking_ = 0;
  bool changing_ = false;
};

}  // namespace coracle
