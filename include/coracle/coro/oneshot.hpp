// oneshot<T>: passes one value from a sender to the task that waits for it.
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

/// Passes one value from a sender to a receiver. It has an owner loop (coro/impl/primitive.hpp): any task may
/// await receive(); send() and close() may be called on any thread. The one sender either sends once or gives
/// up with close(); one task at a time receives.
///
/// The receiver resumes through its own loop's queue, after the current work item. The value has been moved
/// to it by then, so the oneshot may be destroyed once the value was handed over, also by the receiver. If
/// the receiver's environment is stopped, its await throws coro::cancelled and takes nothing: a later
/// receive() still gets the value. A stop after send() does not undo the receive.
template <class T>
class oneshot : public coro::primitive<oneshot<T>> {
  static_assert(std::is_nothrow_move_constructible_v<T>, "the value must not be lost in a throwing move");
  using base = coro::primitive<oneshot<T>>;

 public:
  /// Owned by the loop it is made on; made on a plain thread, by the first loop whose task uses it.
  oneshot() noexcept = default;
  /// Owned by `owner_loop`.
  explicit oneshot(coro::executor& owner_loop) noexcept : base(owner_loop) {}
  ~oneshot() {
    this->close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(),
                   "a oneshot was destroyed while a task waits for it: send() or close(), and join it");
  }

  /// Sends the value. Does not wait. Throws usage_error after send() or close().
  void send(T value) {
    CORACLE_REQUIRE(!sender_ended_,
                    "send() to a oneshot that has a value or is closed: use a queue for several values");
    value_.emplace(std::move(value));
    end();
  }
  /// Ends the sender's side without a value: the receiver gets std::nullopt. Does nothing after send().
  void close() noexcept {
    if (!sender_ended_) end();
  }
  /// Returns whether receive() would complete without waiting. For the owner loop.
  [[nodiscard]] bool is_ready() const noexcept { return ended_; }

  /// @cond
  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, oneshot> {
   public:
    using coro::waiting_call<awaiter, oneshot>::waiting_call;
    /// Returns the value, or an empty optional if the sender called close().
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
      CORACLE_ASSERT(this->at().waiters_.empty(),
                     "concurrent receives of one oneshot: only one task may wait");
      this->at().waiters_.push_back(w);
    }
    void take() noexcept {
      oneshot& from = this->at();
      CORACLE_ASSERT(!from.taken_, "a oneshot was received twice: the first receive moved its value out");
      from.taken_ = from.value_.has_value();
      if (from.taken_) value_.emplace(std::move(*from.value_));
    }
    std::optional<T> value_;
  };
  /// @endcond
  /// Waits for the value: `std::optional<T>`, empty if the sender called close(). Receiving the value a
  /// second time is a defect of the caller and aborts.
  awaiter receive() noexcept { return awaiter(*this); }

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  void end() noexcept {
    sender_ended_ = true;
    if (this->on_owner_loop()) end_here();
    else this->post_remote_calls();
  }
  void end_here() noexcept {
    ended_ = true;
    coro::waiter* w = waiters_.pop_front();
    if (!w) return;
    awaiter::of(*w).take();
    w->resume_soon();
  }
  void on_remote_calls(std::uint64_t) noexcept { end_here(); }

  std::optional<T> value_;  // used by the sender until it has ended
  bool sender_ended_ = false;  // used by the sender only
  bool ended_ = false;
  bool taken_ = false;
  coro::waiter_queue waiters_;  // none or one
};

}  // namespace coracle
