// block_on: a plain thread waits for a task that runs on an executor.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::coro {

// usage_error, in every build type, on a thread that drives an executor: waiting there would be waiting for itself.
void refuse_to_block_an_executor();

// Set once, on any thread, while one other thread may wait for it.
class blocking_signal {
 public:
  blocking_signal() noexcept = default;
  blocking_signal(const blocking_signal&) = delete;
  blocking_signal& operator=(const blocking_signal&) = delete;
  // The waiter may destroy the signal as soon as this has let go of it.
  void set() noexcept;
  void wait() noexcept;
  [[nodiscard]] bool is_set() const noexcept;
  // For a waiter that has something else to do: f(context) is called once it is set, at once if it is.
  void call_when_set(void (*f)(void* context) noexcept, void* context) noexcept;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
  void (*on_set_)(void*) noexcept = nullptr;
  void* context_ = nullptr;
};

// How a task ended, for a thread that waits.
template <class T>
class blocking_result {
 public:
  // The value, or the task's exception thrown.
  T take() {
    if (error_) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }
  // Runs `t` and fills `into`. Never throws itself.
  static task<> fill(task<T> t, blocking_result& into) {
    try {
      if constexpr (std::is_void_v<T>) co_await std::move(t);
      else into.value_.emplace(co_await std::move(t));
    } catch (...) {
      into.error_ = std::current_exception();
    }
  }

 private:
  struct nothing {};
  std::optional<std::conditional_t<std::is_void_v<T>, nothing, T>> value_;
  std::exception_ptr error_;
};

// Starts a task on an executor and destroys its frame at the end; lives on the waiting thread's stack.
class posted_task final : public work, completion {
 public:
  explicit posted_task(task<> t) noexcept;
  // Posts it; the frame is gone when `ended` is set.
  void start(executor& on) noexcept { on.post(*this); }
  blocking_signal ended;

 private:
  std::coroutine_handle<> finished(promise_base& promise, std::coroutine_handle<> frame) noexcept override;
  task<>::handle frame_;
};

// Runs `t` on `on`, which another thread must be driving, and blocks this thread until it has
// ended. Gives its value or throws what it threw. The task inherits no stop token and no deadline.
template <class T>
T block_on(executor& on, task<T> t) {
  refuse_to_block_an_executor();
  blocking_result<T> result;
  posted_task root(blocking_result<T>::fill(std::move(t), result));
  root.start(on);
  root.ended.wait();
  return result.take();
}

// The same of one wait for a primitive, at its home: block_on(event), block_on(channel.receive()), ...
template <class Call>
  requires requires(Call& c) { c.home(); }
auto block_on(Call&& call) {
  executor* home = call.home();
  CORACLE_REQUIRE(home, "blocked on a primitive that has no home yet: give it its loop in the constructor");
  if constexpr (requires { call.await_ready(); }) {
    using value = decltype(call.await_resume());
    return block_on(*home, [](Call& c) -> task<std::remove_cvref_t<value>> { co_return co_await c; }(call));
  } else {
    return block_on(call.operator co_await());
  }
}

}  // namespace coracle::coro
