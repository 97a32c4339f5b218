// writer<T>: writes the messages of a stream in a handler.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/impl/message_awaiters.hpp"

#include <coroutine>

namespace coracle {

/// Writes the messages of a stream, for handlers that write from several places or while they read.
///
/// A handle, cheap to copy; valid until the handler has ended. Use it on the handler's loop, with one write
/// at a time.
template <class T>
class writer {
 public:
  /// Makes a writer of no call, to be assigned to.
  writer() noexcept = default;
  /// @cond
  explicit writer(rpc::call* c) noexcept : call_(c) {}
  /// @endcond
  /// Sends `message`. Waits while the flow-control window of the stream or the connection is exhausted, or
  /// the stream has too much unsent data. Throws call_ended if the call is over.
  [[nodiscard]] rpc::write_awaiter<T> write(const T& message, const write_options& options = {}) noexcept {
    return {call_, message, options};
  }

 private:
  rpc::call* call_ = nullptr;
};

}  // namespace coracle
