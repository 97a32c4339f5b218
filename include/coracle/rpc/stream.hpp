// stream<T>: what a handler with many replies returns, a coroutine that co_yields them; and writer<T>.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/noted_await.hpp"
#include "coracle/coro/promise.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/operations.hpp"
#include "coracle/rpc/rpc.hpp"

#include <coroutine>
#include <exception>
#include <source_location>
#include <utility>

namespace coracle {

template <class T>
class stream;

namespace calls {

template <class T>
class write_result_awaiter : protected write_operation {
 public:
  write_result_awaiter(call* c, const T& message, const write_options& options = {},
                       bool last = false) noexcept
      : write_operation(codec_of<T>::get(), codec_of<T>::address(message), options, last), to_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(to_, h, coro::environment_of(h).stop);
  }
  status await_resume() const { return how(); }

 protected:
  call* to_;
};

template <class T>
class write_awaiter : public write_result_awaiter<T> {
 public:
  using write_result_awaiter<T>::write_result_awaiter;
  void await_resume() const {
    if (!this->how().ok()) throw call_ended(this->how());
  }
};

}  // namespace calls

// Writes messages of a stream, for handlers that write from several places or beside reading. A
// handle, cheap to copy; valid until the handler has ended. One write at a time, on its loop.
template <class T>
class writer {
 public:
  writer() noexcept = default;
  explicit writer(calls::call* c) noexcept : call_(c) {}
  // Waits while the stream or connection is out of window or holds too much unsent already.
  // Throws call_ended when the call is over.
  [[nodiscard]] calls::write_awaiter<T> write(const T& message, const write_options& options = {}) noexcept {
    return {call_, message, options};
  }
  // status instead.
  [[nodiscard]] calls::write_result_awaiter<T> write_result(const T& message,
                                                            const write_options& options = {}) noexcept {
    return {call_, message, options};
  }

 private:
  calls::call* call_ = nullptr;
};

namespace calls {

template <class T>
class stream_promise : public coro::promise_base {
 public:
  coracle::stream<T> get_return_object() noexcept;
  // co_yield reply: as writer::write(). The reply is serialized before anything else runs.
  auto yield_value(const T& reply, std::source_location where = std::source_location::current()) noexcept {
    note(where);
    return coro::noted_awaiter<write_awaiter<T>>(*this, [&] { return write_awaiter<T>(call_, reply); });
  }
  void return_value(coracle::status why) noexcept {
    status_ = std::move(why);
    returned_ = true;
  }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  void set_call(call* c) noexcept { call_ = c; }
  [[nodiscard]] call* current_call() const noexcept { return call_; }
  [[nodiscard]] const coracle::status& why() const noexcept { return status_; }
  // False, without an error(): control has reached the handler's end.
  [[nodiscard]] bool returned() const noexcept { return returned_; }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  call* call_ = nullptr;
  coracle::status status_;
  std::exception_ptr error_;
  bool returned_ = false;
};

// co_await stream<T>::writer()
template <class T>
class writer_awaiter {
 public:
  writer_awaiter() noexcept = default;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<stream_promise<T>> h) noexcept {
    call_ = h.promise().current_call();
    return false;
  }
  coracle::writer<T> await_resume() const noexcept { return coracle::writer<T>(call_); }

 private:
  call* call_ = nullptr;
};

}  // namespace calls

// `co_yield reply;` sends one, suspending while there is no room. `co_return status();` (or any
// other status) ends the call. Reading and writing may go on at once: take the writer and write
// from a task of a scope. When the client resets, both sides end.
template <class T>
class [[nodiscard]] stream {
 public:
  using promise_type = calls::stream_promise<T>;
  using handle = std::coroutine_handle<promise_type>;
  using reply_type = T;

  // Ends the call at once, without a reply.
  stream(coracle::status why) : status_(std::move(why)) {}
  stream(unimplemented u) : status_(u.status()) {}
  explicit stream(handle h) noexcept : frame_(h) {}
  stream(stream&& other) noexcept
      : frame_(std::exchange(other.frame_, {})), status_(std::move(other.status_)) {}
  stream& operator=(stream&&) = delete;
  ~stream() {
    if (frame_) frame_.destroy();
  }

  [[nodiscard]] static calls::writer_awaiter<T> writer() noexcept { return {}; }

  // For the server.
  [[nodiscard]] handle release() noexcept { return std::exchange(frame_, {}); }
  [[nodiscard]] const coracle::status& why() const noexcept { return status_; }
  [[nodiscard]] bool returned() const noexcept { return true; }

 private:
  handle frame_;
  coracle::status status_;
};

template <class T>
stream<T> calls::stream_promise<T>::get_return_object() noexcept {
  return stream<T>(std::coroutine_handle<stream_promise>::from_promise(*this));
}

}  // namespace coracle
