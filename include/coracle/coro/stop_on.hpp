// stop_on: adds a second stop token to a task, next to that of its environment.
#pragma once

#include "coracle/coro/impl/limited_wait.hpp"
#include "coracle/coro/stop_token.hpp"

namespace coracle {

/// @cond
namespace coro {

class second_stop : stop_callback {
 public:
  second_stop(const environment& outer, const stop_token& second) noexcept
      : stop_callback([](stop_callback& c) noexcept { static_cast<second_stop&>(c).expire(); }),
        stop_(outer.stop),
        inner_{stop_.token(), outer.deadline, outer.call, outer.span} {
    if (!second.subscribe(*this)) expire();
  }
  second_stop(const second_stop&) = delete;
  second_stop& operator=(const second_stop&) = delete;
  [[nodiscard]] bool expired() const noexcept { return expired_; }
  [[nodiscard]] const environment& inner() const noexcept { return inner_; }
  [[nodiscard]] static status reason() { return status::cancelled("the stop token requested a stop"); }

 private:
  void expire() noexcept {
    expired_ = true;
    stop_.request_stop();
  }
  stop_source stop_;
  environment inner_;
  bool expired_ = false;
};

}  // namespace coro
/// @endcond

/// co_await stop_on(token, wait) runs a wait that `token` may stop. `wait` is a task<T>, or another movable
/// awaiter with the result T. The result is a result<T> (status for void; result<T> and status stay as they
/// are): the value of the wait, or CANCELLED when the token fired and the task ended with coro::cancelled or
/// the status CANCELLED. A task that completes in spite of the stop keeps its value. Its other exceptions
/// propagate, and so does coro::cancelled when the environment's own stop is the cause. A token that fired
/// before stops the wait immediately. The token's source must outlive the wait, and belong to the same loop.
template <class T>
class [[nodiscard]] stop_on : public coro::limited_wait<T, coro::second_stop, coro::stop_token> {
 public:
  using stop_on::limited_wait::limited_wait;
};
/// @cond
template <class Wait>
stop_on(coro::stop_token, Wait) -> stop_on<coro::awaited_t<Wait>>;
/// @endcond

}  // namespace coracle
