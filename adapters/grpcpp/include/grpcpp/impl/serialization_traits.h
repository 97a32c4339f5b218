// SerializationTraits: how messages of a type become bytes.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

/// Specialize it for messages that are not protobuf's:
///
///   static Status Serialize(const Message&, ByteBuffer* to, bool* own_buffer);
///   static Status Deserialize(ByteBuffer* from, Message*);
///
/// own_buffer tells whether the caller shall release the buffer; here it always may.
template <class Message, class UnusedButHereForPartialTemplateSpecialization = void>
class SerializationTraits;

}  // namespace grpc
