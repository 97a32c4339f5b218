// message_awaiters: what a coroutine awaits to read or write one message of a call, on either side.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/impl/operations.hpp"

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

namespace coracle::rpc {

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

template <class T>
class write_result_awaiter : protected write_operation {
 public:
  write_result_awaiter(call* c, const T& message, const write_options& options = {},
                       bool last = false) noexcept
      : rpc::write_operation(rpc::codec_of<T>::get(), rpc::codec_of<T>::address(message), options, last),
        to_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(to_, h, coro::environment_of(h).stop);
  }
  status await_resume() const { return outcome(); }
  // Before the await: makes a copy of the message, which the caller's object need not outlive.
  void own_message() {
    if (own_ || !message()) return;  // without a message, the await reports the misuse
    own_ = std::make_unique<const T>(*message_at<const T>(message()));
    set_message(codec_of<T>::address(*own_));
  }

 protected:
  call* to_;

 private:
  std::unique_ptr<const T> own_;
};

template <class T>
class write_awaiter : public write_result_awaiter<T> {
 public:
  using write_result_awaiter<T>::write_result_awaiter;
  void await_resume() const {
    if (!this->outcome().ok()) throw call_ended(this->outcome());
  }
};

}  // namespace coracle::rpc
