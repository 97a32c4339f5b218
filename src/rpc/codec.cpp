// codec: the binary format of protobuf messages.
#include "coracle/rpc/impl/codec.hpp"

#include <google/protobuf/message_lite.h>

#include <limits>

namespace coracle::rpc {

namespace {

const google::protobuf::MessageLite& lite_message_at(const void* address) {
  return *static_cast<const google::protobuf::MessageLite*>(address);
}

std::size_t size_bytes(const void* message) { return lite_message_at(message).ByteSizeLong(); }

void write(const void* message, std::uint8_t* to) {
  (void)lite_message_at(message).SerializeWithCachedSizesToArray(to);
}

bool read(void* message, bytes_view from) {
  if (from.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return false;  // protobuf's own limit
  return static_cast<google::protobuf::MessageLite*>(message)->ParseFromArray(from.data(),
                                                                              static_cast<int>(from.size()));
}

}  // namespace

const codec protobuf_codec{message_kind::protobuf, size_bytes, write, read};
const codec protobuf_lite_codec{message_kind::protobuf_lite, size_bytes, write, read};

}  // namespace coracle::rpc
