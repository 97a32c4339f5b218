// codec: how a message type becomes bytes and back, behind plain function pointers, so that the
// machinery of calls is compiled once and not per message type.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace google::protobuf {
class MessageLite;
}

namespace coracle::rpc {

enum class message_kind : std::uint8_t {
  protobuf,       // a google::protobuf::Message: a message_codec may write it otherwise
  protobuf_lite,  // a MessageLite: has no reflection, and so no other form
  own,            // what its codec writes is what travels, whatever the call's content-type says
};

// Messages are passed as the address that codec_of<T>::address() gives.
struct codec {
  message_kind kind;
  // Bytes that write() will need. Call them in pairs: protobuf caches sizes in between.
  std::size_t (*size_bytes)(const void* message);
  // Exactly size_bytes() bytes at `to`.
  void (*write)(const void* message, std::uint8_t* to);
  // False when the bytes are no such message. The message is cleared first.
  bool (*read)(void* message, bytes_view from);
  // What a message that read() has filled takes in memory, for server_limits::memory(); of an `own` codec alone. Null: as
  // much as the bytes that it was read from.
  std::size_t (*memory_bytes)(const void* message) = nullptr;
};

// protobuf's messages in their binary format.
extern const codec protobuf_codec;
extern const codec protobuf_lite_codec;

// Specialize it for a message type that is not protobuf's.
template <class T>
struct codec_of {
  static_assert(std::is_base_of_v<google::protobuf::MessageLite, T>,
                "a message is a protobuf class; include its .pb.h");
  static const codec& get() noexcept {
    if constexpr (requires { T::descriptor(); }) return protobuf_codec;
    else return protobuf_lite_codec;
  }
  static const void* address(const T& message) noexcept {
    return static_cast<const google::protobuf::MessageLite*>(&message);
  }
  static void* address(T& message) noexcept { return static_cast<google::protobuf::MessageLite*>(&message); }
};

}  // namespace coracle::rpc
