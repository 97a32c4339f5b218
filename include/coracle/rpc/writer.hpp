// writer<T>: writes the messages of a stream in a handler.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/impl/operations.hpp"

#include <coroutine>

namespace coracle {

namespace rpc {

template <class T>
class write_result_awaiter : protected rpc::write_operation {
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

 protected:
  call* to_;
};

template <class T>
class write_awaiter : public write_result_awaiter<T> {
 public:
  using write_result_awaiter<T>::write_result_awaiter;
  void await_resume() const {
    if (!this->outcome().ok()) throw call_ended(this->outcome());
  }
};

}  // namespace rpc

/// Writes the messages of a stream, for handlers that write from several places or while they read.
///
/// A handle, cheap to copy; valid until the handler has ended. Use it on the handler's loop, with one write
/// at a time.
template <class T>
class writer {
 public:
  writer() noexcept = default;
  explicit writer(rpc::call* c) noexcept : call_(c) {}
  /// Sends `message`. Waits while the flow-control window of the stream or the connection is exhausted, or
  /// the stream has too much unsent data. Throws call_ended if the call is over.
  [[nodiscard]] rpc::write_awaiter<T> write(const T& message, const write_options& options = {}) noexcept {
    return {call_, message, options};
  }

 private:
  rpc::call* call_ = nullptr;
};

}  // namespace coracle
