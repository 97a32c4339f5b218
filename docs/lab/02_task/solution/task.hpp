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
  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      return ended.promise().continuation_;
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

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
  ~task() {
    if (frame_) frame_.destroy();
  }

  class awaiter {
   public:
    explicit awaiter(handle frame) noexcept : frame_(frame) {}
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
      frame_.promise().set_continuation(awaiter);
      return frame_;
    }
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
