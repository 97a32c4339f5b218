// async_generator<T>: a coroutine that gives a row of values and may wait between them.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/promise.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace coracle {

template <class T>
class async_generator;

namespace coro {

template <class T>
class async_generator_promise : public promise_base {
 public:
  async_generator<T> get_return_object() noexcept;
  template <class U>
    requires std::convertible_to<U&&, T>
  auto yield_value(U&& value, std::source_location where = std::source_location::current()) {
    note(where);
    value_.emplace(std::forward<U>(value));
    // Hands over to whoever waits in next(), as an end does.
    return noted_awaiter<final_awaiter>(*this, [] { return final_awaiter(); });
  }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  std::optional<T> take() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::exchange(value_, std::nullopt);
  }
  bool waiting = false;  // a next() has not come back yet

 private:
  std::optional<T> value_;
  std::exception_ptr error_;
};

}  // namespace coro

//   while (auto item = co_await rows.next()) use(*item);
//
// Lazy: the body starts with the first next(), runs up to its next co_yield on the stack and executor
// of whoever awaits, and stands still between two calls of next(). An empty optional says that it has
// ended, and every next() after that says so too. An exception of the body comes out of next() once.
//
// The body inherits the environment of the next() that runs it, so that it may differ from item to
// item: ask for this_environment() again after a co_yield, and keep nothing that hangs on it (a scope,
// a stop_source, a timeout) across one. What its arguments refer to must outlive it.
//
// A stop: next() under an environment that was stopped before throws coro::cancelled and leaves the
// generator as it was. A stop while the body waits reaches it there; coro::cancelled passes through
// the body and out of next(), and the generator has ended, unless the body catches it and yields. An
// item that comes in spite of the stop is given, not lost.
//
// Owns its frame. Destroyed between two items, the body is unwound at its co_yield, which cannot wait:
// what must be waited for is done before the last item is taken. Destroying it while a next() waits,
// and two of them at a time, are defects of the caller.
template <class T>
class [[nodiscard]] async_generator {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "an async_generator gives values");

 public:
  using value_type = T;
  using promise_type = coro::async_generator_promise<T>;
  using handle = std::coroutine_handle<promise_type>;

  async_generator() noexcept = default;
  explicit async_generator(handle h) noexcept : frame_(h) {}
  async_generator(async_generator&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  async_generator& operator=(async_generator&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, {});
    }
    return *this;
  }
  ~async_generator() { reset(); }

  class next_awaiter {
   public:
    explicit next_awaiter(handle h) noexcept : frame_(h) {}
    next_awaiter(const next_awaiter&) = delete;
    next_awaiter& operator=(const next_awaiter&) = delete;
    ~next_awaiter() {
      if (mine_) frame_.promise().waiting = false;
    }
    [[nodiscard]] bool await_ready() const noexcept { return !frame_ || frame_.done(); }
    template <class Promise>
    coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> parent) {
      promise_type& body = frame_.promise();
      CORACLE_REQUIRE(!body.waiting, "an async_generator gives one item at a time: a next() still waits");
      const coro::environment& e = coro::environment_of(parent);
      if (e.stop.stop_requested()) {
        stopped_ = true;
        return stay(parent);
      }
      mine_ = body.waiting = true;
      body.inherit(e);
      body.set_continuation(parent);
      return coro::promise_base::start(frame_, body);
    }
    std::optional<T> await_resume() {
      if (stopped_) throw coro::cancelled();
      if (!mine_) return std::nullopt;
      mine_ = frame_.promise().waiting = false;
      return frame_.promise().take();
    }

   private:
    static coro::promise_base::transfer stay(std::coroutine_handle<> parent) noexcept {
#if CORACLE_TRAMPOLINE
      static_cast<void>(parent);
      return false;
#else
      return parent;
#endif
    }
    handle frame_;
    bool mine_ = false;
    bool stopped_ = false;
  };
  // The next item, or nothing at the end.
  [[nodiscard]] next_awaiter next() noexcept { return next_awaiter(frame_); }

 private:
  void reset() noexcept {
    if (!frame_) return;
    CORACLE_ASSERT(!frame_.promise().waiting, "an async_generator was destroyed while a next() waits");
    std::exchange(frame_, {}).destroy();
  }
  handle frame_;
};

namespace coro {

template <class T>
async_generator<T> async_generator_promise<T>::get_return_object() noexcept {
  return async_generator<T>(std::coroutine_handle<async_generator_promise>::from_promise(*this));
}

}  // namespace coro
}  // namespace coracle
