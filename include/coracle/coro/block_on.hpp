// block_on: blocks a plain thread until a task that runs on an executor has ended.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::coro {

/// Throws usage_error, in every build type, on a thread that drives an executor: that thread would wait for
/// itself.
void require_no_executor();

/// A signal that is set once. Any thread may set it, and one other thread may wait for it.
class blocking_signal {
 public:
  /// Not set.
  blocking_signal() noexcept;
  blocking_signal(const blocking_signal&) = delete;
  blocking_signal& operator=(const blocking_signal&) = delete;
  ~blocking_signal();
  /// Sets the signal. The waiter may destroy the signal as soon as this call has released its lock.
  void set() noexcept;
  /// Blocks until the signal is set.
  void wait() noexcept;
  /// Returns whether the signal is set. Any thread may call this.
  [[nodiscard]] bool is_set() const noexcept;
  /// For a waiter that cannot block: calls f(context) when the signal is set, or immediately if it is set
  /// already.
  void call_when_set(void (*f)(void* context) noexcept, void* context) noexcept;

 private:
  // In place, but in block_on.cpp: <condition_variable> is what users' files would compile longest here.
  struct state;
  [[nodiscard]] state& held() const noexcept;
  static constexpr std::size_t state_bytes = 128;
  alignas(std::max_align_t) mutable std::byte state_[state_bytes];
};

/// The outcome of a task, for a thread that waits for it.
template <class T>
class blocking_result {
 public:
  /// Returns the value, or throws the task's exception.
  T take() {
    if (error_) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }
  /// Runs `t` and stores its outcome in `into`, which must outlive the task. Throws nothing itself.
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

/// Starts a task on an executor and destroys the task's frame at its end. Lives on the stack of the waiting
/// thread.
class posted_task final : public runnable, completion {
 public:
  /// Takes the task over; start() runs it.
  explicit posted_task(task<> t) noexcept;
  /// Posts the task to the executor. When `ended` is set, the frame is gone.
  void start(executor& on) noexcept { on.post(*this); }
  blocking_signal ended;  ///< set when the task has ended

 private:
  std::coroutine_handle<> finished(promise_base& promise, std::coroutine_handle<> frame) noexcept override;
  task<>::handle frame_;
};

/// Runs `t` on the executor `on`, which another thread must drive, and blocks this thread until the task has
/// ended. Throws usage_error on a thread that drives an executor. Returns the value of the task or throws its
/// exception. The task inherits no stop token and no deadline.
template <class T>
T block_on(executor& on, task<T> t) {
  require_no_executor();
  blocking_result<T> result;
  posted_task root(blocking_result<T>::fill(std::move(t), result));
  root.start(on);
  root.ended.wait();
  return result.take();
}

/// Blocks until one wait for a primitive has ended, which runs on the owner loop of the primitive:
/// block_on(event), block_on(queue.receive()), and so on. Throws usage_error if the primitive has no owner
/// loop yet.
template <class Call>
  requires requires(Call& c) { c.owner_loop(); }
auto block_on(Call&& call) {
  executor* owner_loop = call.owner_loop();
  CORACLE_REQUIRE(owner_loop,
                  "blocked on a primitive that has no owner loop yet: pass the loop to its constructor");
  if constexpr (requires { call.await_ready(); }) {
    using value = decltype(call.await_resume());
    return block_on(*owner_loop,
                    [](Call& c) -> task<std::remove_cvref_t<value>> { co_return co_await c; }(call));
  } else {
    return block_on(call.operator co_await());
  }
}

}  // namespace coracle::coro
