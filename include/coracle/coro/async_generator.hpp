// async_generator<T>: a coroutine that produces a sequence of values and may wait between them.
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

/// @cond
namespace coro {

template <class T>
class async_generator_promise : public promise_base {
 public:
  async_generator<T> get_return_object() noexcept;
  template <class U>
    requires std::convertible_to<U&&, T>
  auto yield_value(U&& value, std::source_location where = std::source_location::current()) {
    record_await_site(where);
    value_.emplace(std::forward<U>(value));
    // Transfers control to the coroutine that awaits next(), as the end of the body does.
    return traced_awaiter<final_awaiter>(*this, [] { return final_awaiter(); });
  }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  std::optional<T> take() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::exchange(value_, std::nullopt);
  }
  bool waiting = false;  // a next() has not resumed yet

 private:
  std::optional<T> value_;
  std::exception_ptr error_;
};

}  // namespace coro
/// @endcond

/// A coroutine that produces a sequence of values and may co_await between them.
///
///     while (auto item = co_await rows.next()) use(*item);
///
/// The generator is lazy: its body starts with the first next(), runs up to its next co_yield on the stack
/// and the executor of the awaiting coroutine, and stays suspended between two calls of next(). next()
/// returns an empty optional when the body has ended, and so does every next() after that. An exception that
/// leaves the body is thrown by next(), once.
///
/// The body inherits the environment of the next() that runs it, so the environment may change from item to
/// item: await this_environment() again after each co_yield, and keep nothing that depends on it (a scope, a
/// stop_source, a timeout) across a co_yield. What the arguments of the coroutine refer to must outlive the
/// generator.
///
/// Stop requests: if the environment was stopped before, next() throws coro::cancelled and leaves the
/// generator unchanged. If it is stopped while the body waits, the wait in the body throws coro::cancelled,
/// which propagates through the body and out of next(); the generator has then ended, unless the body catches
/// the exception and yields. An item that is produced in spite of the stop is returned, not lost.
///
/// The generator owns its frame. If it is destroyed between two items, the body is unwound from its co_yield
/// and cannot wait meanwhile, so the body has to do whatever must be awaited before it yields its last item.
/// Destroying the generator while a next() waits is a defect of the caller and aborts; a second next() at the
/// same time throws usage_error.
template <class T>
class [[nodiscard]] async_generator {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "an async_generator yields values");

 public:
  /// The type of the values.
  using value_type = T;
  /// @cond
  using promise_type = coro::async_generator_promise<T>;
  using handle = std::coroutine_handle<promise_type>;
  /// @endcond

  /// Makes an empty generator, whose next() returns an empty optional.
  async_generator() noexcept = default;
  /// @cond
  explicit async_generator(handle h) noexcept : frame_(h) {}
  /// @endcond
  async_generator(async_generator&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  async_generator& operator=(async_generator&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, {});
    }
    return *this;
  }
  ~async_generator() { reset(); }

  /// @cond
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
      CORACLE_REQUIRE(!body.waiting,
                      "concurrent next() calls on one async_generator: await one before the next");
      const coro::environment& e = coro::environment_of(parent);
      if (e.stop.stop_requested()) {
        stopped_ = true;
        return remain_suspended(parent);
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
    static coro::promise_base::transfer remain_suspended(std::coroutine_handle<> parent) noexcept {
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
  /// @endcond
  /// Returns the next item, or an empty optional at the end.
  [[nodiscard]] next_awaiter next() noexcept { return next_awaiter(frame_); }

 private:
  void reset() noexcept {
    if (!frame_) return;
    CORACLE_ASSERT(!frame_.promise().waiting, "an async_generator was destroyed while a next() waits");
    std::exchange(frame_, {}).destroy();
  }
  handle frame_;
};

/// @cond
namespace coro {

template <class T>
async_generator<T> async_generator_promise<T>::get_return_object() noexcept {
  return async_generator<T>(std::coroutine_handle<async_generator_promise>::from_promise(*this));
}

}  // namespace coro
/// @endcond
}  // namespace coracle
