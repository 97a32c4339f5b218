// wake_link: lets threads wake a coroutine that may have ended meanwhile.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>
#include <mutex>
#include <utility>

namespace coracle::coro {

// Shared by one coroutine and by threads that may outlive it, and its executor. What they exchange is guarded
// by the link's mutex. The executor is used only while the coroutine waits, so a link that is dropped or
// closed at any other moment has nothing in its queue.
class wake_link : private runnable, private stop_callback {
 public:
  wake_link() noexcept : stop_callback(&wake_link::stopped) { run = &wake_link::arrived; }
  wake_link(const wake_link&) = delete;
  wake_link& operator=(const wake_link&) = delete;
  ~wake_link() = default;

  // Any thread: calls change() under the mutex, and ends the coroutine's present or next wait. Returns false,
  // without calling it, after close(). If change() throws, the coroutine is not
  // woken.
  template <class Change>
  bool wake(Change change) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    change();
    changed_ = true;
    if (waiting_) enqueue();
    return true;
  }
  // Any thread: calls read() under the mutex.
  template <class Read>
  auto locked(Read read) const {
    const std::lock_guard lock(mutex_);
    return read();
  }
  // Any thread; not from a change(), while the coroutine does not wait. Idempotent.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  [[nodiscard]] bool closed() const noexcept {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  class awaiter {
   public:
    explicit awaiter(wake_link& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return of_.suspend(h, environment_of(h).stop);
    }
    void await_resume() const {
      if (!of_.take_change()) throw cancelled();
    }

   private:
    wake_link& of_;
  };
  // Waits until wake() was called since the last wait. Throws cancelled if the environment is stopped. One
  // coroutine waits, on the same executor each time.
  [[nodiscard]] awaiter changed() noexcept { return awaiter(*this); }

 private:
  bool suspend(std::coroutine_handle<> waiter, const stop_token& stop) noexcept {
    const std::lock_guard lock(mutex_);
    if (changed_ || !stop.subscribe(*this)) return false;
    executor_ = executor::current();
    waiter_ = waiter;
    waiting_ = true;
    return true;
  }
  bool take_change() noexcept {
    const std::lock_guard lock(mutex_);
    return std::exchange(changed_, false);
  }
  // Under the mutex.
  void enqueue() noexcept {
    if (!std::exchange(queued_, true)) executor_->post(*this);
  }
  // Runs on the executor, inside the function that requests the stop.
  static void stopped(stop_callback& s) noexcept {
    auto& self = static_cast<wake_link&>(s);
    const std::lock_guard lock(self.mutex_);
    self.enqueue();
  }
  static void arrived(runnable& w) noexcept {
    auto& self = static_cast<wake_link&>(w);
    {
      const std::lock_guard lock(self.mutex_);
      self.waiting_ = self.queued_ = false;
    }
    self.stop_callback::unlink();
    self.waiter_.resume();
  }

  mutable std::mutex mutex_;
  bool closed_ = false;
  bool changed_ = false;
  bool waiting_ = false;
  bool queued_ = false;
  executor* executor_ = nullptr;
  std::coroutine_handle<> waiter_;
};

}  // namespace coracle::coro
