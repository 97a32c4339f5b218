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
  // Step 3: count the task, and start run_to_its_end() for it.
  void spawn(task<>) {}

  // Resumes a coroutine in run(), after everything that is queued already.
  // Step 1: put it into the queue.
  void resume_later(std::coroutine_handle<>) {}

  // co_await s.yield() lets all other tasks that can run have their turn.
  class yield_awaiter {
   public:
    explicit yield_awaiter(scheduler& of) noexcept : of_(of) {}
    // Step 2: suspend, and let the scheduler resume the coroutine later.
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) {}
    void await_resume() const noexcept {}

   private:
    [[maybe_unused]] scheduler& of_;
  };
  yield_awaiter yield() noexcept { return yield_awaiter(*this); }

  // Runs until all tasks have ended. Then it throws the first exception that left a task, if there was one.
  // Throws std::logic_error if tasks are left, and nothing will ever resume them.
  // Step 5: while tasks are left, resume the coroutines of the queue one after the other. When the queue is empty, call
  // wait_for_events(), and throw if it returns false.
  void run() {}

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
  // Step 4: yield, so that the task begins in run(); await the task; keep its exception; count it off.
  static root run_to_its_end(scheduler&, task<>) { co_return; }

  std::deque<std::coroutine_handle<>> ready_;
  [[maybe_unused]] std::size_t tasks_ = 0;
  std::exception_ptr failure_;
};

}  // namespace lab
