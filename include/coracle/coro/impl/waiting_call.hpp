// waiting_call: the shared awaiter of the primitives: a fast path on the owner loop, a remote call otherwise.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/waiter.hpp"

#include <coroutine>
#include <optional>

namespace coracle::coro {

// A Call derives from this class and defines:
//   bool attempt()              takes what it waits for, if it is available; on the owner loop
//   void enqueue(waiter&)       only if it does more than append to at().waiters_; on the owner loop
//   void abandoned(waiter&)     only if the queue needs an update after a stop; must call resume_soon();
//                               on the owner loop
//   R await_resume()            calls throw_if_stopped() first; on the loop of the awaiting task
// The Primitive derives from primitive<> and must outlive the wait.
template <class Call, class Primitive>
class waiting_call {
 public:
  explicit waiting_call(Primitive& p) noexcept : at_(p) {}
  // Moves a call that has not been awaited yet.
  waiting_call(waiting_call&& other) noexcept : at_(other.at_) {
    CORACLE_ASSERT(!other.turn_, "a wait was moved after it was awaited");
  }
  waiting_call& operator=(waiting_call&&) = delete;

  [[nodiscard]] bool await_ready() noexcept { return at_.home_.is_here() && call().attempt(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return turn_.emplace(call()).start(at_.home_, h, environment_of(h).stop);
  }
  // For block_on(). Null while the primitive has no owner loop.
  [[nodiscard]] executor* home() const noexcept { return at_.home(); }

 protected:
  ~waiting_call() = default;
  [[nodiscard]] bool waited() const noexcept { return turn_.has_value(); }
  void throw_if_stopped() const {
    if (turn_) [[unlikely]]
      turn_->throw_if_stopped();
  }
  [[nodiscard]] Primitive& at() const noexcept { return at_; }
  // Returns the call that waits with `w`.
  static Call& of(waiter& w) noexcept { return static_cast<turn&>(w).call; }

  void enqueue(waiter& w) noexcept { at_.waiters_.push_back(w); }
  void abandoned(waiter& w) noexcept { w.resume_soon(); }

 private:
  friend Primitive;
  class turn final : public waiter {
   public:
    explicit turn(Call& c) noexcept : call(c) {}
    Call& call;

   private:
    bool attempt() noexcept override { return call.attempt(); }
    void enqueue() noexcept override { call.enqueue(*this); }
    void abandoned() noexcept override { call.abandoned(*this); }
  };
  Call& call() noexcept { return static_cast<Call&>(*this); }
  Primitive& at_;
  std::optional<turn> turn_;
};

}  // namespace coracle::coro
