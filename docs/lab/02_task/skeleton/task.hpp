// A task: a coroutine that begins when it is awaited, and returns a value or an exception to its awaiter.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace lab {

template <class T = void>
class task;

// What the promises of all tasks share.
class promise_base {
 public:
  // Step 1: a task is lazy. It must not run before it is awaited.
  std::suspend_never initial_suspend() const noexcept { return {}; }

  // Step 2: at its end a task resumes its awaiter: return continuation_ from await_suspend(), which resumes it without
  // a growing stack (symmetric transfer). The frame must stay, because the value is in it.
  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise>) const noexcept {
      return std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  // Step 3: keep the exception, for the awaiter.
  void unhandled_exception() noexcept {}

  void set_continuation(std::coroutine_handle<> awaiter) noexcept { continuation_ = awaiter; }

 protected:
  void rethrow_exception() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  std::exception_ptr exception_;
};

template <class T>
class promise : public promise_base {
 public:
  task<T> get_return_object() noexcept;
  void return_value(T value) { value_.emplace(std::move(value)); }
  T take() {
    rethrow_exception();
    if (!value_) std::terminate();  // the task has not ended
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class promise<void> : public promise_base {
 public:
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const { rethrow_exception(); }
};

template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = promise<T>;
  using handle = std::coroutine_handle<promise_type>;

  explicit task(handle frame) noexcept : frame_(frame) {}
  task(task&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  // Step 4: the task owns the frame. Destroy it.
  ~task() {}

  class awaiter {
   public:
    explicit awaiter(handle frame) noexcept : frame_(frame) {}
    // Step 5: suspend the awaiter, remember it as the continuation of the frame, and begin the frame by returning it.
    bool await_ready() const noexcept { return true; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept { return awaiter; }
    T await_resume() { return frame_.promise().take(); }

   private:
    handle frame_;
  };
  awaiter operator co_await() && noexcept { return awaiter(frame_); }

 private:
  handle frame_;
};

template <class T>
task<T> promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<promise>::from_promise(*this));
}
inline task<void> promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<promise>::from_promise(*this));
}

}  // namespace lab
