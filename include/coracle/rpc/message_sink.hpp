// message_sink: gives the bytes of each message that arrives to a function, without a copy of them.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/impl/codec.hpp"

namespace coracle {

/// Takes the place of a protobuf class for messages that are received, as bytes_message does, but keeps
/// nothing: its function reads the bytes where they have arrived, for example into memory of the program.
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
/// are no valid message, and the call ends with INTERNAL. It may throw std::bad_alloc alone, and must not
/// begin or cancel calls. Interceptors that keep a message may have it called later, but before the await
/// ends.
///
/// An object without a function drops the messages. Messages of this type cannot be sent.
class message_sink {
 public:
  using function = bool (*)(void* to, bytes_view bytes);

  message_sink() noexcept = default;
  /// `to` is passed to the function, and must outlive the awaits.
  message_sink(void* to, function call) noexcept : to_(to), call_(call) {}

  // For the library: a message has arrived.
  [[nodiscard]] bool take(bytes_view bytes) const { return !call_ || call_(to_, bytes); }

 private:
  void* to_ = nullptr;
  function call_ = nullptr;
};

namespace rpc {

extern const codec sink_codec;

template <>
struct codec_of<message_sink> {
  static const codec& get() noexcept { return sink_codec; }
  static const void* address(const message_sink& message) = delete;  // cannot be sent
  static void* address(message_sink& message) noexcept { return &message; }
};

}  // namespace rpc
}  // namespace coracle
