// condition_variable: waits, without a mutex, for what others change under it.
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

// Has a home loop (coro/impl/primitive.hpp), that of its mutex: wait() from any task, notify_one() and
// notify_all() from any thread. All its waiters use one mutex.
//
//   coracle::mutex::guard held = co_await m.lock();
//   co_await changed.wait(held, [&] { return !queue.empty(); });
//
// wait() unlocks the mutex, waits for a notification and has the lock again when it ends, however
// it ends; the guard is empty in between. Without a predicate there is one wait for each notification;
// nobody is woken without one, but what it was about may be gone by the time the lock is back.
// Order: notifications go to the waiters first come first served; a notified waiter queues for the
// mutex behind those that wait for it already and resumes through its loop's queue.
// A stop of a waiter's environment ends the wait, takes no notification from the others, queues
// for the mutex and then throws coro::cancelled with the lock held. A stop after the notification
// does not undo it. The way back to the lock cannot be stopped.
class condition_variable : public coro::primitive<condition_variable> {
 public:
  condition_variable() noexcept = default;
  explicit condition_variable(coro::executor& home) noexcept : primitive(home) {}
  ~condition_variable() {
    leave_home();
    CORACLE_ASSERT(waiters_.empty(),
                   "a condition_variable was destroyed while tasks wait for it: join them first");
  }

  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, condition_variable> {
   public:
    awaiter(condition_variable& c, mutex::guard& held) : waiting_call(c), held_(held), mutex_(held.mutex_) {
      CORACLE_REQUIRE(mutex_, "waited for a condition without its lock: lock the mutex and pass the guard");
      CORACLE_REQUIRE(c.live_with(*mutex_),
                      "a condition_variable lives on another loop than the mutex: make both on one");
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      held_.mutex_ = nullptr;  // for as long as it waits: a frame destroyed meanwhile unlocks nothing
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
    void abandoned(coro::waiter& w) noexcept { lock_again(w); }
    void lock_again(coro::waiter& w) noexcept;
    mutex::guard& held_;
    mutex* mutex_;
  };
  // `held` has to hold the lock, and stays where it is until the await ends.
  awaiter wait(mutex::guard& held) { return awaiter(*this, held); }

  // Until `done()`, which is called with the lock held. Costs a frame. What `done` captures is kept in it.
  template <class Predicate>
  task<> wait(mutex::guard& held, Predicate done) {
    while (!done()) co_await wait(held);
  }

  void notify_one() noexcept {
    if (at_home()) notify_here(1);
    else call_home();
  }
  // All that wait now; those that wait again because of it are not notified twice.
  void notify_all() noexcept {
    if (at_home()) notify_here(all);
    else call_home(all);
  }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  static constexpr std::uint64_t all = std::uint64_t{1} << 32;
  void notify_here(std::uint64_t n) noexcept;
  void called_from_elsewhere(std::uint64_t n) noexcept { notify_here(n); }
  coro::waiter_queue waiters_;
};

}  // namespace coracle
