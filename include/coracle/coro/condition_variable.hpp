// condition_variable: waits for a change of state that a coracle::mutex protects.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstdint>
#include <utility>

namespace coracle {

/// Waits for changes of state that a coracle::mutex protects. Its owner loop (coro/impl/primitive.hpp) is
/// that of the mutex: any task may await wait(); notify_one() and notify_all() may be called on any thread.
/// All waiters must use the same mutex.
///
///     coracle::mutex::guard held = co_await m.lock();
///     co_await changed.wait(held, [&] { return !queue.empty(); });
///
/// wait() unlocks the mutex, waits for a notification and has locked the mutex again when it ends, however it
/// ends. The guard is empty in between. Without a predicate, each wait ends with one notification; there are
/// no spurious wakeups, but the state may have changed again before the waiter has the lock.
///
/// Order: notifications reach the waiters first come, first served. A notified waiter queues for the mutex
/// after the tasks that already wait for it, and resumes through its own loop's queue.
///
/// If a waiter's environment is stopped, the wait ends without consuming a notification, queues for the mutex
/// and then throws coro::cancelled with the lock held. A stop after the notification does not undo it.
/// Locking the mutex again cannot be stopped.
class condition_variable : public coro::primitive<condition_variable> {
 public:
  /// Owned by the loop it is made on; made on a plain thread, by that of the first wait().
  condition_variable() noexcept = default;
  /// Owned by `owner_loop`, which must be that of the mutex.
  explicit condition_variable(coro::executor& owner_loop) noexcept : primitive(owner_loop) {}
  ~condition_variable() {
    close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(),
                   "a condition_variable was destroyed while tasks wait for it: join them first");
  }

  /// @cond
  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, condition_variable> {
   public:
    awaiter(condition_variable& c, mutex::guard& held) : waiting_call(c), held_(held), mutex_(held.mutex_) {
      CORACLE_REQUIRE(mutex_, "wait() without a lock: lock the mutex and pass its guard");
      CORACLE_REQUIRE(
          c.share_owner_loop(*mutex_),
          "the condition_variable and the mutex have different owner loops: construct both on one loop");
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      held_.mutex_ = nullptr;  // a frame destroyed meanwhile unlocks nothing
      return waiting_call::await_suspend(h);
    }
    void await_resume() const {
      held_.mutex_ = mutex_;
      throw_if_stopped();
    }

   private:
    friend waiting_call;
    friend class condition_variable;
    bool attempt() const noexcept { return false; }
    void enqueue(coro::waiter& w) noexcept {
      at().waiters_.push_back(w);
      mutex_->unlock_here();
    }
    void on_stopped(coro::waiter& w) noexcept { lock_again(w); }
    void lock_again(coro::waiter& w) noexcept;
    mutex::guard& held_;
    mutex* mutex_;
  };
  /// @endcond
  /// Waits for one notification. `held` must hold the lock and must stay where it is until the await ends.
  /// Throws usage_error if the guard is empty or the mutex has another owner loop.
  awaiter wait(mutex::guard& held) { return awaiter(*this, held); }

  /// Waits until `done()` returns true. `done` is called with the lock held. The wait allocates a coroutine
  /// frame, which keeps `done` with its captures.
  template <class Predicate>
  task<> wait(mutex::guard& held, Predicate done) {
    while (!done()) co_await wait(held);
  }

  /// Notifies the first waiter, if there is one. Does not wait.
  void notify_one() noexcept {
    if (on_owner_loop()) notify_here(1);
    else post_remote_calls();
  }
  /// Notifies all tasks that wait now. A task that waits again as a result is not notified twice.
  void notify_all() noexcept {
    if (on_owner_loop()) notify_here(all);
    else post_remote_calls(all);
  }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  static constexpr std::uint64_t all = std::uint64_t{1} << 32;
  void notify_here(std::uint64_t n) noexcept;
  void on_remote_calls(std::uint64_t n) noexcept { notify_here(n); }
  coro::waiter_queue waiters_;
};

}  // namespace coracle
