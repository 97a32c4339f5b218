// reply<T>: the return type of a handler with one reply, which is a coroutine or an ordinary function.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/impl/owned_frame.hpp"
#include "coracle/coro/impl/promise.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

/// Ends a call with UNIMPLEMENTED. Converts to the return type of every handler.
class unimplemented {
 public:
  /// Returns UNIMPLEMENTED with a text.
  [[nodiscard]] coracle::status status() const {
    return coracle::status::unimplemented("the server does not implement this method");
  }
};

template <class T>
class reply;

namespace server_internal {

template <class>
inline constexpr bool always_false = false;

// A type that a handler with one reply of type T may not return. The compiler's message then says what to do.
template <class Other, class T>
concept no_reply_of = !std::convertible_to<Other, T> && !std::convertible_to<Other, const T*> &&
                      !std::convertible_to<Other, coracle::status> && !std::convertible_to<Other, result<T>>;
template <class Other>
constexpr void refuse_reply() {
  static_assert(always_false<Other>,
                "a handler of one reply returns a message of the type in the .proto, a pointer to one that "
                "outlives the "
                "call, or a status that is not OK");
}
template <class Ok>
constexpr void refuse_ok() {
  static_assert(
      always_false<Ok>,
      "a handler of one reply cannot return coracle::ok: return the reply, or a status that is not OK");
}
template <class Null>
constexpr void refuse_null() {
  static_assert(always_false<Null>,
                "a handler of one reply cannot return a null pointer: return the reply, or a status");
}

template <class T>
class reply_promise : public coro::promise_base {
 public:
  reply<T> get_return_object() noexcept;
  void return_value(T&& reply) { message_.emplace(std::move(reply)); }
  void return_value(const T& reply) { message_.emplace(reply); }
  // A reply that stays where it is until the call ends: made by server_context::make_reply(), placed in its
  // arena(), or static.
  void return_value(const T* reply) noexcept { external_ = reply; }
  template <std::same_as<std::nullptr_t> Null>
  void return_value(Null) {
    refuse_null<Null>();
  }
  template <std::same_as<ok_t> Ok>
  void return_value(Ok) {
    refuse_ok<Ok>();
  }
  template <no_reply_of<T> Other>
  void return_value(Other&&) {
    refuse_reply<Other>();
  }
  template <class Message>
  std::suspend_never yield_value(Message&&) {
    static_assert(always_false<Message>,
                  "co_yield in a handler of one reply: co_return the reply (stream replies in the .proto)");
    return {};
  }
  void return_value(coracle::status outcome) noexcept { status_ = std::move(outcome); }
  void return_value(result<T> outcome) {
    if (outcome) message_.emplace(*std::move(outcome));
    else status_ = outcome.status();
  }
  void unhandled_exception() noexcept {
    external_ = nullptr;  // a destructor may throw after `co_return reply;`
    message_.reset();
    error_ = std::current_exception();
  }

  // Null if the handler ended with a status or an exception. If all three are missing, the handler gave
  // nothing.
  [[nodiscard]] const T* sent() const noexcept {
    return external_ ? external_ : message_ ? &*message_ : nullptr;
  }
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  const T* external_ = nullptr;
  std::optional<T> message_;
  coracle::status status_;
  std::exception_ptr error_;
};

}  // namespace server_internal

/// The return type of a handler with one reply.
///
/// A handler may be a coroutine (`co_return reply;`, `co_return status::not_found("...");`) or an ordinary
/// function that returns the reply or a status at once, which saves the coroutine frame.
///
/// If a handler provides neither a reply nor an error, because its status is OK, its pointer is null or
/// control reaches its end, its call ends with INTERNAL and the server logs the method.
template <class T>
class [[nodiscard]] reply {
 public:
  /// @cond
  using promise_type = server_internal::reply_promise<T>;
  using handle = std::coroutine_handle<promise_type>;
  /// @endcond
  /// The type of the reply.
  using reply_type = T;

  /// @{
  /// Sends `message`.
  reply(T&& message) : message_(std::move(message)) {}
  reply(const T& message) : message_(message) {}
  /// @}
  /// Sends `*message` from where it is, like `co_return &reply` in a coroutine. It must stay valid until the
  /// call has ended: see server_context::make_reply() and server_context::arena().
  reply(const T* message) noexcept : external_(message) {}
  /// @cond  What may not be returned; the compiler's message says what to do.
  template <std::same_as<std::nullptr_t> Null>
  reply(Null) {
    server_internal::refuse_null<Null>();
  }
  template <std::same_as<ok_t> Ok>
  reply(Ok) {
    server_internal::refuse_ok<Ok>();
  }
  template <class Other>
    requires server_internal::no_reply_of<Other, T> && (!std::same_as<std::remove_cvref_t<Other>, reply>) &&
             (!std::same_as<std::remove_cvref_t<Other>, unimplemented>) &&
             (!std::same_as<std::remove_cvref_t<Other>, handle>)
  reply(Other&&) {
    server_internal::refuse_reply<Other>();
  }
  /// @endcond
  /// Ends the call with `outcome`, which must not be OK.
  reply(coracle::status outcome) noexcept : status_(std::move(outcome)) {}
  /// Sends the value, or ends the call with the status.
  reply(result<T> outcome) {
    if (outcome) message_.emplace(*std::move(outcome));
    else status_ = outcome.status();
  }
  /// Ends the call with UNIMPLEMENTED.
  reply(unimplemented u) : status_(u.status()) {}
  /// @cond
  explicit reply(handle h) noexcept : frame_(h) {}
  /// @endcond
  reply(reply&&) noexcept = default;
  reply& operator=(reply&&) = delete;

  /// @cond  For the server.
  // The frame to start, or null if the result is available already.
  [[nodiscard]] handle release() noexcept { return frame_.release(); }
  // Null if there is only a status.
  [[nodiscard]] const T* sent() const noexcept {
    return external_ ? external_ : message_ ? &*message_ : nullptr;
  }
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  /// @endcond

 private:
  coro::owned_frame<promise_type> frame_;
  const T* external_ = nullptr;
  std::optional<T> message_;
  coracle::status status_;
};

template <class T>
reply<T> server_internal::reply_promise<T>::get_return_object() noexcept {
  return reply<T>(std::coroutine_handle<reply_promise>::from_promise(*this));
}

}  // namespace coracle
