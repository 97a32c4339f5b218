// A mutex and a channel for tasks of one scheduler. No thread blocks: a task that must wait is suspended.
#pragma once

#include "../../03_scheduler/solution/scheduler.hpp"

#include <coroutine>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

namespace lab {

// Tasks that wait, in the order in which they came.
class wait_list {
 public:
  explicit wait_list(scheduler& on) noexcept : on_(on) {}

  class awaiter {
   public:
    explicit awaiter(wait_list& of) noexcept : of_(of) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) { of_.waiters_.push_back(h); }
    void await_resume() const noexcept {}

   private:
    wait_list& of_;
  };
  awaiter wait() noexcept { return awaiter(*this); }

  // Returns false if no task waits. The task does not run inside this call.
  // Step 1: hand the first of them to resume_later() of the scheduler.
  bool wake_one() { return false; }
  void wake_all() {
    while (wake_one()) {
    }
  }

 private:
  [[maybe_unused]] scheduler& on_;
  std::deque<std::coroutine_handle<>> waiters_;
};

// Protects state across awaits.
class mutex {
 public:
  explicit mutex(scheduler& on) noexcept : waiters_(on) {}

  // Unlocks at its end.
  class [[nodiscard]] guard {
   public:
    explicit guard(mutex& of) noexcept : of_(&of) {}
    guard(guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    ~guard() {
      if (of_) of_->unlock();
    }

   private:
    mutex* of_;
  };

  // Step 2: wait if the mutex is locked, and lock it.
  task<guard> lock() { co_return guard(*this); }

 private:
  // Step 3: if a task waits, the mutex stays locked, on behalf of that task. Why would it not do to unlock the mutex, and
  // to let the task that wakes lock it again?
  void unlock() {}

  [[maybe_unused]] bool locked_ = false;
  wait_list waiters_;
};

// A queue between tasks. It holds at most `capacity` items, at least 1.
template <class T>
class channel {
 public:
  channel(scheduler& on, std::size_t capacity) : capacity_(capacity), senders_(on), receivers_(on) {}

  // Waits while the channel is full. Returns false, and drops the item, when the channel is closed.
  // Step 4: a task that has been woken must check again: another one may have taken the place meanwhile.
  task<bool> send(T) { co_return false; }

  // Waits while the channel is empty. Returns nothing when it is closed, and empty.
  // Step 5: items that were sent before the channel was closed still come out.
  task<std::optional<T>> receive() { co_return std::nullopt; }

  // Step 6: no task may wait any longer.
  void close() {}

 private:
  [[maybe_unused]] std::size_t capacity_;
  [[maybe_unused]] bool closed_ = false;
  std::deque<T> items_;
  wait_list senders_;
  wait_list receivers_;
};

}  // namespace lab
