// io_wait: awaits one operation of the loop's backend.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <coroutine>
#include <cstdint>

namespace coracle::net {

// Marks a flag as in use for its lifetime. Two operations at a time are a bug of the caller, because the
// order of their bytes would be undefined.
class in_use {
 public:
  in_use(bool& flag, const char* defect) : flag_(flag) {
    CORACLE_REQUIRE(!flag_, defect);
    flag_ = true;
  }
  in_use(const in_use&) = delete;
  in_use& operator=(const in_use&) = delete;
  ~in_use() { flag_ = false; }

 private:
  bool& flag_;
};

// The status of a wait that was stopped: CANCELLED, or DEADLINE_EXCEEDED when the deadline has passed, since
// with_timeout() stops its task at the deadline that it also sets.
status stop_status(const loop& on, time_point deadline);

// Fill in the operation's public part, then co_await it; the result is the operation's. A stop or a passed
// deadline of the awaiter's environment cancels the operation, which is still awaited to its end, so that the
// kernel no longer uses the memory it points to when the await ends. An operation that completed anyway keeps
// its result: a value >= 0 is returned even after a stop. Lives in the awaiting frame, or beside its handle,
// where it may be awaited repeatedly.
class io_wait : public runtime_internal::operation, coro::stop_callback, coro::timer {
 public:
  io_wait(loop& owner_loop, runtime_internal::operation::kind operation_kind,
          runtime_internal::handle handle) noexcept;
  io_wait(const io_wait&) = delete;
  io_wait& operator=(const io_wait&) = delete;

  // Ends the wait early, from other code on the loop; ended_early() then returns `reason`. Has no effect when
  // the operation has ended or has not begun.
  void interrupt(status reason) noexcept;

  // True between the start and the end of the operation.
  [[nodiscard]] bool waits() const noexcept { return static_cast<bool>(waiter_); }
  // Implements await_suspend(), also for other awaiters. Returns false when the operation ended at once.
  bool start(std::coroutine_handle<> h, const coro::environment& e);

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) {
    return start(h, coro::environment_of(h));
  }
  [[nodiscard]] std::int64_t await_resume() const noexcept { return result_; }

  // CANCELLED or DEADLINE_EXCEEDED when that is the reason for the result -ECANCELED; else OK.
  [[nodiscard]] const status& ended_early() const noexcept { return early_outcome_; }

 private:
  void ended(std::int64_t result) noexcept;

  loop& loop_;
  std::coroutine_handle<> waiter_;
  std::int64_t result_ = 0;
  time_point deadline_ = never;
  status early_outcome_;
};

}  // namespace coracle::net
