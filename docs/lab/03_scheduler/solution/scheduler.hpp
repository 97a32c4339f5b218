// A scheduler: runs many tasks on one thread, by turns, until all of them have ended.
#pragma once

#include "../../02_task/solution/task.hpp"

#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <stdexcept>
#include <utility>

namespace lab {

class scheduler {
 public:
  scheduler() = default;
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  virtual ~scheduler() = default;

  // Starts a task in run(), after those that were spawned before. May be called before run() and in tasks.
  void spawn(task<> t) {
    ++tasks_;
    run_to_its_end(*this, std::move(t));
  }

  // Resumes a coroutine in run(), after everything that is queued already.
  void resume_later(std::coroutine_handle<> h) { ready_.push_back(h); }

  // co_await s.yield() lets all other tasks that can run have their turn.
  class yield_awaiter {
   public:
    explicit yield_awaiter(scheduler& of) noexcept : of_(of) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) { of_.resume_later(h); }
    void await_resume() const noexcept {}

   private:
    scheduler& of_;
  };
  yield_awaiter yield() noexcept { return yield_awaiter(*this); }

  // Runs until all tasks have ended. Then it throws the first exception that left a task, if there was one.
  // Throws std::logic_error if tasks are left, and nothing will ever resume them.
  void run() {
    while (tasks_ > 0) {
      if (ready_.empty() && !wait_for_events())
        throw std::logic_error("every task waits, and nothing will resume one");
      if (ready_.empty()) continue;
      const std::coroutine_handle<> next = ready_.front();
      ready_.pop_front();
      next.resume();
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 protected:
  // Waits until an event has made a coroutine ready. Returns false where there is nothing to wait for. The next
  // exercises override it for timers and sockets.
  virtual bool wait_for_events() { return false; }

 private:
  struct root {
    struct promise_type {
      root get_return_object() const noexcept { return {}; }
      std::suspend_never initial_suspend() const noexcept { return {}; }
      std::suspend_never final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
  };
  static root run_to_its_end(scheduler& on, task<> t) {
    co_await on.yield();
    try {
      co_await std::move(t);
    } catch (...) {
      if (!on.failure_) on.failure_ = std::current_exception();
    }
    --on.tasks_;
  }

  std::deque<std::coroutine_handle<>> ready_;
  std::size_t tasks_ = 0;
  std::exception_ptr failure_;
};

}  // namespace lab
