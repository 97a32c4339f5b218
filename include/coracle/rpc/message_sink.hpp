// message_sink: gives the bytes of each message that arrives to a function.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/impl/codec.hpp"

#include <concepts>

namespace coracle {

/// Takes the place of a protobuf class for messages of streams that are received, as bytes_message does, but
/// keeps nothing: its function reads the bytes in the memory of the connection, from which a bytes_message is
/// copied. Messages that come in several frames or compressed are put together there first.
///
///   const auto count = [](void* to, bytes_view bytes) {
///     *static_cast<std::size_t*>(to) += bytes.size();
///     return true;
///   };
///   message_sink into(&total, count);
///   while ((co_await call.read(into)).value()) {}
///
/// The function is called on the loop of the call, during the await, with what the codec of the sender wrote:
/// decompressed, and without the envelope. The bytes are valid until it returns. If it returns false, they
/// are no valid message, and the call ends as with a protobuf class: with INTERNAL, on a client. It may throw
/// std::bad_alloc alone, which ends the call with RESOURCE_EXHAUSTED. It must not begin or cancel calls. An
/// interceptor that asks for the message as a message_sink has the function called then, and again if it sets
/// other bytes.
///
/// An object without a function drops the messages; next() and calls with one reply use such an object.
/// Messages of this type cannot be sent.
class message_sink {
 public:
  /// What is called with each message: false means that the bytes are no valid message.
  using function = bool (*)(void* to, bytes_view bytes);

  /// Drops the messages.
  message_sink() noexcept = default;
  /// `to` is passed to the function, and must outlive the awaits.
  message_sink(void* to, function call) noexcept : to_(to), call_(call) {}

  /// @cond  For the library: a message has arrived.
  [[nodiscard]] bool take(bytes_view bytes) const { return !call_ || call_(to_, bytes); }
  /// @endcond

 private:
  void* to_ = nullptr;
  function call_ = nullptr;
};

/// @cond
namespace rpc {

extern const codec sink_codec;

template <>
struct codec_of<message_sink> {
  static const codec& get() noexcept { return sink_codec; }
  // Of a message that is sent.
  template <std::same_as<message_sink> Sent>
  static const void* address(const Sent&) {
    static_assert(!std::same_as<Sent, message_sink>,
                  "a message_sink only receives messages: send a bytes_message or a protobuf class");
    return nullptr;
  }
  static void* address(message_sink& message) noexcept { return &message; }
};

}  // namespace rpc
/// @endcond
}  // namespace coracle
