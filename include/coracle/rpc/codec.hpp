// codec: how a message type becomes bytes and back, behind plain function pointers, so that the
// machinery of calls is compiled once and not per message type.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <type_traits>

namespace google::protobuf {
class MessageLite;
}

namespace coracle::calls {

// Messages are passed as the address that codec_of<T>::address() gives.
struct codec {
  // Bytes that write() will need. Call them in pairs: protobuf caches sizes in between.
  std::size_t (*size_bytes)(const void* message);
  // Exactly size_bytes() bytes at `to`.
  void (*write)(const void* message, std::uint8_t* to);
  // False when the bytes are no such message. The message is cleared first.
  bool (*read)(void* message, bytes_view from);
};

// protobuf's messages, full and lite.
extern const codec protobuf_codec;

template <class T>
struct codec_of {
  static_assert(std::is_base_of_v<google::protobuf::MessageLite, T>,
                "a message is a protobuf class; include its .pb.h");
  static const codec& get() noexcept { return protobuf_codec; }
  static const void* address(const T& message) noexcept {
    return static_cast<const google::protobuf::MessageLite*>(&message);
  }
  static void* address(T& message) noexcept { return static_cast<google::protobuf::MessageLite*>(&message); }
};

}  // namespace coracle::calls
