// Messages as bytes: SerializationTraits of protobuf's messages, and what calls send and receive.
#pragma once

#include <grpcpp/impl/config_protobuf.h>
#include <grpcpp/impl/serialization_traits.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>
#include <grpcpp/support/status.h>

#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace grpc {

namespace internal {

Status serialize_protobuf(const protobuf::MessageLite& message, std::string& to);
Status deserialize_protobuf(const char* bytes, std::size_t size, protobuf::MessageLite& to);

}  // namespace internal

template <class Message>
class SerializationTraits<
    Message, typename std::enable_if<std::is_base_of<protobuf::MessageLite, Message>::value>::type> {
 public:
  // The messages of the library's own traits need no ByteBuffer.
  using is_protobuf = std::true_type;

  static Status Serialize(const protobuf::MessageLite& message, ByteBuffer* to, bool* own_buffer) {
    std::string bytes;
    const Status s = internal::serialize_protobuf(message, bytes);
    *to = ByteBuffer::own(std::move(bytes));
    *own_buffer = true;
    return s;
  }
  static Status Deserialize(ByteBuffer* from, protobuf::MessageLite* to) {
    const std::string bytes = from->bytes();
    from->Clear();
    return internal::deserialize_protobuf(bytes.data(), bytes.size(), *to);
  }
};

namespace internal {

template <class Message, class = void>
inline constexpr bool is_protobuf = false;
template <class Message>
inline constexpr bool is_protobuf<Message, std::void_t<typename SerializationTraits<Message>::is_protobuf>> = true;

// The bytes of a message, as calls send them.
template <class Message>
Status to_bytes(const Message& message, std::string& bytes) {
  if constexpr (is_protobuf<Message>) {
    return serialize_protobuf(message, bytes);
  } else {
    ByteBuffer buffer;
    bool own_buffer = true;
    const Status s = SerializationTraits<Message>::Serialize(message, &buffer, &own_buffer);
    if (s.ok()) bytes = buffer.bytes();
    return s;
  }
}

// A message from the bytes that arrived.
template <class Message>
Status from_bytes(std::string&& bytes, Message& message) {
  if constexpr (is_protobuf<Message>) {
    return deserialize_protobuf(bytes.data(), bytes.size(), message);
  } else {
    ByteBuffer buffer = ByteBuffer::own(std::move(bytes));
    return SerializationTraits<Message>::Deserialize(&buffer, &message);
  }
}

}  // namespace internal
}  // namespace grpc
