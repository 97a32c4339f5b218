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
  bool wake_one() {
    if (waiters_.empty()) return false;
    on_.resume_later(waiters_.front());
    waiters_.pop_front();
    return true;
  }
  void wake_all() {
    while (wake_one()) {
    }
  }

 private:
  scheduler& on_;
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

  task<guard> lock() {
    if (locked_) co_await waiters_.wait();  // unlock() passes the lock on: it is locked, for this task
    locked_ = true;
    co_return guard(*this);
  }

 private:
  void unlock() { locked_ = waiters_.wake_one(); }

  bool locked_ = false;
  wait_list waiters_;
};

// A queue between tasks. It holds at most `capacity` items, at least 1.
template <class T>
class channel {
 public:
  channel(scheduler& on, std::size_t capacity) : capacity_(capacity), senders_(on), receivers_(on) {}

  // Waits while the channel is full. Returns false, and drops the item, when the channel is closed.
  task<bool> send(T item) {
    while (!closed_ && items_.size() >= capacity_) co_await senders_.wait();
    if (closed_) co_return false;
    items_.push_back(std::move(item));
    receivers_.wake_one();
    co_return true;
  }

  // Waits while the channel is empty. Returns nothing when it is closed, and empty.
  task<std::optional<T>> receive() {
    while (!closed_ && items_.empty()) co_await receivers_.wait();
    if (items_.empty()) co_return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    senders_.wake_one();
    co_return item;
  }

  void close() {
    closed_ = true;
    senders_.wake_all();
    receivers_.wake_all();
  }

 private:
  std::size_t capacity_;
  bool closed_ = false;
  std::deque<T> items_;
  wait_list senders_;
  wait_list receivers_;
};

}  // namespace lab
