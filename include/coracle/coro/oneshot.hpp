// oneshot<T>: one value, from whoever has it to the one task that waits for it.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

// Has a home loop (coro/impl/primitive.hpp): receive() from any task, send() and close() from any thread. One
// sender sends once or gives up by close(); one task at a time receives.
//
// The receiver resumes through its loop's queue, after the current work. The value is moved to it
// by then: the oneshot may be destroyed when the receiver was granted it, and by whoever receives.
// A stop of the receiver's environment throws coro::cancelled out of its await and takes nothing:
// a later receive() still gets the value. A stop after send() does not undo the receive.
template <class T>
class oneshot : public coro::primitive<oneshot<T>> {
  static_assert(std::is_nothrow_move_constructible_v<T>, "the value must not be lost in a throwing move");
  using base = coro::primitive<oneshot<T>>;

 public:
  oneshot() noexcept = default;
  explicit oneshot(coro::executor& home) noexcept : base(home) {}
  ~oneshot() {
    this->leave_home();
    CORACLE_ASSERT(waiters_.empty(),
                   "a oneshot was destroyed while a task waits for it: send() or close(), and join it");
  }

  void send(T value) {
    CORACLE_REQUIRE(!sender_ended_,
                    "a oneshot was sent to after its value or its close(): for more values use a channel");
    value_.emplace(std::move(value));
    end();
  }
  // No value will come: the receiver gets std::nullopt. Does nothing after send().
  void close() noexcept {
    if (!sender_ended_) end();
  }
  // Whether receive() would give its answer without waiting.
  [[nodiscard]] bool is_ready() const noexcept { return ended_; }

  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, oneshot> {
   public:
    using coro::waiting_call<awaiter, oneshot>::waiting_call;
    // The value, or nothing when it was closed without one.
    std::optional<T> await_resume() {
      this->throw_if_stopped();
      return std::move(value_);
    }

   private:
    friend coro::waiting_call<awaiter, oneshot>;
    friend class oneshot;
    bool attempt() noexcept {
      if (this->at().ended_) take();
      return this->at().ended_;
    }
    void enqueue(coro::waiter& w) noexcept {
      CORACLE_ASSERT(this->at().waiters_.empty(), "a oneshot is received by one task at a time");
      this->at().waiters_.push_back(w);
    }
    void take() noexcept {
      oneshot& from = this->at();
      CORACLE_ASSERT(!from.taken_, "a oneshot was received twice: its value was moved out the first time");
      from.taken_ = from.value_.has_value();
      if (from.taken_) value_.emplace(std::move(*from.value_));
    }
    std::optional<T> value_;
  };
  awaiter receive() noexcept { return awaiter(*this); }

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  void end() noexcept {
    sender_ended_ = true;
    if (this->at_home()) end_here();
    else this->call_home();
  }
  void end_here() noexcept {
    ended_ = true;
    coro::waiter* w = waiters_.pop_front();
    if (!w) return;
    awaiter::of(*w).take();
    w->resume_soon();
  }
  void called_from_elsewhere(std::uint64_t) noexcept { end_here(); }

  std::optional<T> value_;  // the sender's until it has ended
  bool sender_ended_ = false;  // the sender's
  bool ended_ = false;
  bool taken_ = false;
  coro::waiter_queue waiters_;  // none or one
};

}  // namespace coracle
