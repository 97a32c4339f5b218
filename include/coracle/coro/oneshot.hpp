// oneshot<T>: one value, from whoever has it to the one task that waits for it.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <optional>
#include <utility>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic. One sender sends once or
// gives up by close(); one task at a time receives.
//
// The receiver resumes through the loop's queue, after the current work. The value stays in the
// oneshot until the receiver runs, so the oneshot has to live until then; it is moved out.
// A stop of the receiver's environment throws coro::cancelled out of its await and takes nothing:
// a later receive() still gets the value. A stop after send() does not undo the receive.
template <class T>
class oneshot {
 public:
  oneshot() noexcept = default;
  oneshot(const oneshot&) = delete;
  oneshot& operator=(const oneshot&) = delete;
  ~oneshot() {
    CORACLE_ASSERT(!receiving_,
                   "a oneshot was destroyed while a task waits for it: send() or close(), and join it");
  }

  void send(T value) {
    CORACLE_ASSERT(!ended_,
                   "a oneshot was sent to after its value or its close(): for more values use a channel");
    value_.emplace(std::move(value));
    end();
  }
  // No value will come: the receiver gets std::nullopt. Does nothing after send().
  void close() noexcept {
    if (!ended_) end();
  }
  // Whether receive() would give its answer without waiting.
  [[nodiscard]] bool is_ready() const noexcept { return ended_; }

  class [[nodiscard]] awaiter {
   public:
    explicit awaiter(oneshot& o) noexcept : from_(o) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    ~awaiter() {
      if (wait_) from_.receiving_ = false;
    }
    [[nodiscard]] bool await_ready() const noexcept { return from_.ended_; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      CORACLE_ASSERT(!from_.receiving_, "a oneshot is received by one task at a time");
      from_.receiving_ = true;
      return wait_.emplace().start(from_.receivers_, h, coro::environment_of(h).stop);
    }
    // The value, or nothing when it was closed without one.
    std::optional<T> await_resume() {
      if (wait_) wait_->throw_if_stopped();
      CORACLE_ASSERT(!from_.taken_, "a oneshot was received twice: its value was moved out the first time");
      from_.taken_ = from_.value_.has_value();
      return std::exchange(from_.value_, std::nullopt);
    }

   private:
    oneshot& from_;
    std::optional<coro::waiter> wait_;
  };
  awaiter receive() noexcept { return awaiter(*this); }

 private:
  void end() noexcept {
    ended_ = true;
    if (coro::waiter* w = receivers_.pop_front()) w->resume_soon();
  }
  std::optional<T> value_;
  coro::waiter_queue receivers_;  // none or one
  bool ended_ = false;
  bool receiving_ = false;
  bool taken_ = false;
};

}  // namespace coracle
