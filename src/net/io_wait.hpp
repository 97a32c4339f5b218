// io_wait: a coroutine waits for one operation of its loop's backend.
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

// Two at a time are a defect of the caller: nobody could say whose bytes come first.
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

// What a wait ends with that was stopped: CANCELLED, or DEADLINE_EXCEEDED when the deadline has passed, since
// with_timeout() stops its task at the deadline that it also sets.
status why_stopped(const loop& on, time_point deadline);

// Fill in the operation's public part, then co_await it: the result is the operation's. A stop or a
// passed deadline of the awaiter's environment cancels it, and it is still awaited to its end, so that
// whatever it points to is the kernel's no longer when the await ends. What happened all the same counts: a
// result >= 0 is given even after a stop. Lives in the awaiting frame, or beside its handle, to be awaited
// again and again.
class io_wait : public runtime_internal::operation, coro::stop_callback, coro::timer {
 public:
  io_wait(loop& home, runtime_internal::operation::kind operation_kind,
          runtime_internal::handle handle) noexcept;
  io_wait(const io_wait&) = delete;
  io_wait& operator=(const io_wait&) = delete;

  // Ends it early from elsewhere on the loop; ended_early() is `why` then. Nothing when it has ended or not
  // begun.
  void interrupt(status why) noexcept;

  // Between its start and its end.
  [[nodiscard]] bool waits() const noexcept { return static_cast<bool>(waiter_); }
  // What await_suspend() does, for other awaiters. False when it ended at once.
  bool start(std::coroutine_handle<> h, const coro::environment& e);

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) {
    return start(h, coro::environment_of(h));
  }
  [[nodiscard]] std::int64_t await_resume() const noexcept { return result_; }

  // CANCELLED or DEADLINE_EXCEEDED when that is why the result is -ECANCELED; else ok.
  [[nodiscard]] const status& ended_early() const noexcept { return early_; }

 private:
  void ended(std::int64_t result) noexcept;

  loop& home_;
  std::coroutine_handle<> waiter_;
  std::int64_t result_ = 0;
  time_point deadline_ = never;
  status early_;
};

}  // namespace coracle::net
