// condition_variable: waits, without a mutex, for what others change under it.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <utility>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic. All its waiters use one mutex.
//
//   coracle::mutex::guard held = co_await m.lock();
//   co_await changed.wait(held, [&] { return !queue.empty(); });
//
// wait() unlocks the mutex, waits for a notification and has the lock again when it ends, however
// it ends; the guard is empty in between. Without a predicate there is one wait for each notification;
// nobody is woken without one, but what it was about may be gone by the time the lock is back.
// Order: notifications go to the waiters first come first served; a notified waiter queues for the
// mutex behind those that wait for it already and resumes through the loop's queue.
// A stop of a waiter's environment ends the wait, takes no notification from the others, queues
// for the mutex and then throws coro::cancelled with the lock held. A stop after the notification
// does not undo it. The way back to the lock cannot be stopped.
class condition_variable {
 public:
  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  ~condition_variable() {
    CORACLE_ASSERT(waiters_.empty(),
                   "a condition_variable was destroyed while tasks wait for it: join them first");
  }

  class [[nodiscard]] awaiter : coro::waiter {
   public:
    awaiter(condition_variable& c, mutex::guard& held) noexcept
        : coro::waiter(&awaiter::stopped), condition_(c), held_(held), mutex_(held.mutex_) {
      CORACLE_ASSERT(mutex_, "waited for a condition without its lock: lock the mutex and pass the guard");
    }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      if (!start(condition_.waiters_, h, coro::environment_of(h).stop)) return false;
      held_.unlock();  // empty for as long as it waits: a frame destroyed meanwhile unlocks nothing
      return true;
    }
    void await_resume() const {
      held_.mutex_ = mutex_;
      throw_if_stopped();
    }

   private:
    friend class condition_variable;
    static void stopped(coro::waiter& w) noexcept { static_cast<awaiter&>(w).lock_again(); }
    void lock_again() noexcept;
    condition_variable& condition_;
    mutex::guard& held_;
    mutex* mutex_;
  };
  // `held` has to hold the lock, and stays where it is until the await ends.
  awaiter wait(mutex::guard& held) noexcept { return awaiter(*this, held); }

  // Until `done()`, which is called with the lock held. Costs a frame. What `done` captures is kept in it.
  template <class Predicate>
  task<> wait(mutex::guard& held, Predicate done) {
    while (!done()) co_await wait(held);
  }

  void notify_one() noexcept;
  // All that wait now; those that wait again because of it are not notified twice.
  void notify_all() noexcept;

 private:
  coro::waiter_queue waiters_;
};

}  // namespace coracle
