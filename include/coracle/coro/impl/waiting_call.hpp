// waiting_call: what the awaiters of the primitives share: at home a short way, from elsewhere a longer one.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/waiter.hpp"

#include <coroutine>
#include <optional>

namespace coracle::coro {

// A Call derives from this and has, all of them for home:
//   bool attempt()              takes what it waits for, if it is there
//   void enqueue(waiter&)       if something else is to be done than to queue in at().waiters_
//   void abandoned(waiter&)     if the queue needs mending after a stop; has to call resume_soon()
//   R await_resume()            for its own loop; calls throw_if_stopped() first
// The Primitive derives from primitive<> and outlives the call's wait.
template <class Call, class Primitive>
class waiting_call {
 public:
  explicit waiting_call(Primitive& p) noexcept : at_(p) {}
  // Before it is awaited.
  waiting_call(waiting_call&& other) noexcept : at_(other.at_) {
    CORACLE_ASSERT(!other.turn_, "a wait is moved before it is awaited");
  }
  waiting_call& operator=(waiting_call&&) = delete;

  [[nodiscard]] bool await_ready() noexcept { return at_.home_.is_here() && call().attempt(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return turn_.emplace(call()).start(at_.home_, h, environment_of(h).stop);
  }
  // For block_on(); null while the primitive has none.
  [[nodiscard]] executor* home() const noexcept { return at_.home(); }

 protected:
  ~waiting_call() = default;
  [[nodiscard]] bool waited() const noexcept { return turn_.has_value(); }
  void throw_if_stopped() const {
    if (turn_) [[unlikely]]
      turn_->throw_if_stopped();
  }
  [[nodiscard]] Primitive& at() const noexcept { return at_; }
  // The call that waits by `w`.
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
