// reader<T>: reads the messages of a client's stream in a handler.
#pragma once

#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/impl/message_awaiters.hpp"

#include <optional>

namespace coracle {

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
  /// Makes a reader of no call, to be assigned to.
  reader() noexcept = default;
  /// @cond
  explicit reader(rpc::call* c) noexcept : call_(c) {}
  /// @endcond

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
