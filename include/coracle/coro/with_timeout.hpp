// with_timeout: a task with a time limit, which stops the task and still waits for its end.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/limited_wait.hpp"

namespace coracle {

namespace coro {

class time_limit : timer {
 public:
  time_limit(const environment& outer, duration limit) noexcept;
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;
  ~time_limit();
  [[nodiscard]] bool expired() const noexcept { return expired_; }
  [[nodiscard]] const environment& inner() const noexcept { return inner_; }
  [[nodiscard]] static status reason() { return status::deadline_exceeded("the time limit passed"); }

 private:
  time_limit(const environment& outer, executor& on, time_point end) noexcept;
  stop_source stop_;
  environment inner_;
  executor& executor_;
  bool expired_ = false;
};

}  // namespace coro

// co_await with_timeout(1s, wait) of a task<T>, or of another awaiter of T that can be moved, gives result<T>
// (status for void; result<T> and status stay what they are): what the wait gave, or
// DEADLINE_EXCEEDED when the limit passed and the task ended by coro::cancelled. A task that ends well in
// spite of the stop keeps its value; its other exceptions pass through. Calls made inside see the deadline.
template <class T>
class [[nodiscard]] with_timeout : public coro::limited_wait<T, coro::time_limit, duration> {
 public:
  using with_timeout::limited_wait::limited_wait;
};
template <class Wait>
with_timeout(duration, Wait) -> with_timeout<coro::awaited_t<Wait>>;

}  // namespace coracle
