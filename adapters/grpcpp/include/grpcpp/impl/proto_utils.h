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

/// For traits of a program's own: a message to bytes and back through a Writer and a Reader, such as ProtoBufferWriter
/// and ProtoBufferReader. They take what `T` they are for, and do not use it.
template <class Writer, class T>
Status GenericSerialize(const protobuf::MessageLite& message, ByteBuffer* to, bool* own_buffer) {
  static_assert(std::is_base_of_v<protobuf::io::ZeroCopyOutputStream, Writer>,
                "the writer must be a protobuf::io::ZeroCopyOutputStream");
  constexpr std::size_t block_size = 1024 * 1024;
  const std::size_t size = message.ByteSizeLong();
  *own_buffer = true;
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return {StatusCode::INTERNAL, "a message of 2 GiB or more cannot be serialized"};
  }
  Writer writer(to, static_cast<int>(block_size), static_cast<int>(size));
  if (message.SerializeToZeroCopyStream(&writer)) return {};
  return {StatusCode::INTERNAL, "Failed to serialize message"};
}
template <class Reader, class T>
Status GenericDeserialize(ByteBuffer* from, protobuf::MessageLite* to) {
  static_assert(std::is_base_of_v<protobuf::io::ZeroCopyInputStream, Reader>,
                "the reader must be a protobuf::io::ZeroCopyInputStream");
  if (from == nullptr) return {StatusCode::INTERNAL, "No payload"};
  Status status;
  {
    Reader reader(from);
    status = reader.status();
    if (status.ok() && !to->ParseFromZeroCopyStream(&reader)) {
      status = {StatusCode::INTERNAL, to->InitializationErrorString()};
    }
  }
  from->Clear();
  return status;
}

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
inline constexpr bool is_protobuf<Message, std::void_t<typename SerializationTraits<Message>::is_protobuf>> =
    true;

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
