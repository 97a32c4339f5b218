// reader<T>: reads the messages of a client's stream in a handler.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/impl/operations.hpp"

#include <coroutine>
#include <optional>
#include <utility>

namespace coracle {

namespace rpc {

// Awaits one message of a call. Handlers unwind when the call ends: their operations throw call_ended. Those
// of a client return a result.
template <class T>
class message_awaiter : protected read_operation {
 public:
  explicit message_awaiter(call* c) noexcept : read_operation(codec_of<T>::get()), from_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(from_, codec_of<T>::address(message_), h, coro::environment_of(h).stop);
  }

 protected:
  call* from_;
  T message_;
};

template <class T>
class next_awaiter : public message_awaiter<T> {
 public:
  using message_awaiter<T>::message_awaiter;
  std::optional<T> await_resume() {
    if (this->state() == read_operation::outcome::message) return std::move(this->message_);
    if (this->state() == read_operation::outcome::failed) throw call_ended(this->failure());
    return std::nullopt;
  }
};

template <class T>
class next_result_awaiter : public message_awaiter<T> {
 public:
  using message_awaiter<T>::message_awaiter;
  result<std::optional<T>> await_resume() {
    if (this->state() == read_operation::outcome::message) return std::optional<T>(std::move(this->message_));
    if (this->state() == read_operation::outcome::failed) return this->failure();
    return std::optional<T>();
  }
};

// Reads into a message of the caller and reuses its memory, for long streams.
template <class T>
class read_result_awaiter : protected read_operation {
 public:
  read_result_awaiter(call* c, T& into) noexcept
      : read_operation(codec_of<T>::get(), true), from_(c), into_(&into) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(from_, codec_of<T>::address(*into_), h, coro::environment_of(h).stop);
  }
  result<bool> await_resume() {
    if (state() == outcome::failed) return failure();
    return state() == outcome::message;
  }

 protected:
  call* from_;
  T* into_;
};

template <class T>
class read_awaiter : public read_result_awaiter<T> {
 public:
  using read_result_awaiter<T>::read_result_awaiter;
  bool await_resume() {
    if (this->state() == read_operation::outcome::failed) throw call_ended(this->failure());
    return this->state() == read_operation::outcome::message;
  }
};

}  // namespace rpc

/// Reads the messages that the client sends. A handle, cheap to copy; valid until the handler has ended.
///
/// Use it on the handler's loop, from one task at a time (another task may write meanwhile).
///
/// A false or empty result always means that the client ended its stream properly. After any other end
/// (reset, deadline, drain, a message that does not parse) the operation throws call_ended, which has the
/// status, so that a truncated upload is never mistaken for a complete one.
template <class T>
class reader {
 public:
  reader() noexcept = default;
  explicit reader(rpc::call* c) noexcept : call_(c) {}

  /// Awaits the next message: `std::optional<T>`, empty at the end of the stream. Throws call_ended if the
  /// call has failed.
  [[nodiscard]] rpc::next_awaiter<T> next() noexcept { return rpc::next_awaiter<T>(call_); }
  /// Awaits the next message and decodes it into `into`, which must outlive the await: `bool`, false at the
  /// end of the stream. Throws call_ended if the call has failed.
  [[nodiscard]] rpc::read_awaiter<T> read(T& into) noexcept { return rpc::read_awaiter<T>(call_, into); }

 private:
  rpc::call* call_ = nullptr;
};

}  // namespace coracle
