// with_timeout: a task with a time limit. When the limit passes, it stops the task and waits for its end.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/limited_wait.hpp"

namespace coracle {

/// @cond
namespace coro {

class time_limit : timer {
 public:
  time_limit(const environment& outer, duration limit) noexcept;
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;
  ~time_limit();
  [[nodiscard]] bool expired() const noexcept { return expired_; }
  [[nodiscard]] const environment& inner() const noexcept { return inner_; }
  [[nodiscard]] static status reason() { return status::deadline_exceeded("the timeout expired"); }

 private:
  time_limit(const environment& outer, executor& on, time_point end) noexcept;
  stop_source stop_;
  environment inner_;
  executor& executor_;
  bool expired_ = false;
};

}  // namespace coro
/// @endcond

/// co_await with_timeout(1s, wait) runs a wait with a time limit. `wait` is a task<T>, or another movable
/// awaiter with the result T. The result is a result<T> (status for void; result<T> and status stay as they
/// are): the value of the wait, or DEADLINE_EXCEEDED when the limit passed and the task ended with
/// coro::cancelled or the status CANCELLED. A task that completes in spite of the stop keeps its value; its
/// other exceptions propagate. Calls made inside inherit the deadline.
template <class T>
class [[nodiscard]] with_timeout : public coro::limited_wait<T, coro::time_limit, duration> {
 public:
  using with_timeout::limited_wait::limited_wait;
};
/// @cond
template <class Wait>
with_timeout(duration, Wait) -> with_timeout<coro::awaited_t<Wait>>;
/// @endcond

}  // namespace coracle
