// replies<T>: the return type of a handler with many replies, a coroutine that yields them.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/impl/owned_frame.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/writer.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <source_location>
#include <utility>

namespace coracle {

template <class T>
class replies;

namespace server_internal {

template <class T>
class replies_promise : public coro::promise_base {
 public:
  coracle::replies<T> get_return_object() noexcept;
  // `co_yield reply` has the effect of writer::write(). It serializes the reply before anything else runs.
  auto yield_value(const T& reply, std::source_location where = std::source_location::current()) noexcept {
    record_await_site(where);
    return coro::traced_awaiter<rpc::write_awaiter<T>>(*this,
                                                       [&] { return rpc::write_awaiter<T>(call_, reply); });
  }
  template <class Other>
    requires(!std::convertible_to<const Other&, const T&>)
  std::suspend_never yield_value(const Other&) {
    static_assert(always_false<Other>, "co_yield gives a message of the type in the .proto");
    return {};
  }
  template <class Other>
    requires(!std::convertible_to<Other, coracle::status>)
  void return_value(Other&&) {
    static_assert(always_false<Other>,
                  "a handler of many replies co_yields its messages and ends with co_return coracle::ok, or "
                  "another status");
  }
  void return_value(coracle::status outcome) noexcept {
    status_ = std::move(outcome);
    returned_ = true;
  }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  void set_call(rpc::call* c) noexcept { call_ = c; }
  [[nodiscard]] rpc::call* current_call() const noexcept { return call_; }
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  // False without an error(): control reached the end of the handler.
  [[nodiscard]] bool returned() const noexcept { return returned_; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  rpc::call* call_ = nullptr;
  coracle::status status_;
  std::exception_ptr error_;
  bool returned_ = false;
};

// The result of co_await replies<T>::writer().
template <class T>
class writer_awaiter {
 public:
  writer_awaiter() noexcept = default;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<replies_promise<T>> h) noexcept {
    call_ = h.promise().current_call();
    return false;
  }
  coracle::writer<T> await_resume() const noexcept { return coracle::writer<T>(call_); }

 private:
  rpc::call* call_ = nullptr;
};

}  // namespace server_internal

/// The return type of a handler with many replies.
///
/// `co_yield reply;` sends one reply and suspends while the stream has no room. `co_return coracle::ok;`, or
/// any other status, ends the call. To read and write concurrently, take the writer() and write from a task
/// of a scope. When the client resets the call, both directions end.
template <class T>
class [[nodiscard]] replies {
 public:
  /// @cond
  using promise_type = server_internal::replies_promise<T>;
  using handle = std::coroutine_handle<promise_type>;
  /// @endcond
  /// The type of the replies.
  using reply_type = T;

  /// Ends the call at once with `outcome`, without a reply.
  replies(coracle::status outcome) : status_(std::move(outcome)) {}
  /// Ends the call with UNIMPLEMENTED.
  replies(unimplemented u) : status_(u.status()) {}
  /// @cond
  explicit replies(handle h) noexcept : frame_(h) {}
  /// @endcond
  replies(replies&&) noexcept = default;
  replies& operator=(replies&&) = delete;

  /// `co_await writer()` within the handler gives the writer of its call.
  [[nodiscard]] static server_internal::writer_awaiter<T> writer() noexcept { return {}; }

  /// @cond  For the server.
  [[nodiscard]] handle release() noexcept { return frame_.release(); }
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  [[nodiscard]] bool returned() const noexcept { return true; }
  /// @endcond

 private:
  coro::owned_frame<promise_type> frame_;
  coracle::status status_;
};

template <class T>
replies<T> server_internal::replies_promise<T>::get_return_object() noexcept {
  return replies<T>(std::coroutine_handle<replies_promise>::from_promise(*this));
}

}  // namespace coracle
