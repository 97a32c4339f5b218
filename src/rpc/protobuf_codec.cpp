// The one file of the library that includes protobuf.
#include "coracle/rpc/codec.hpp"

#include <google/protobuf/message_lite.h>

#include <limits>

namespace coracle::calls {

namespace {

const google::protobuf::MessageLite& message_at(const void* address) {
  return *static_cast<const google::protobuf::MessageLite*>(address);
}

}  // namespace

const codec protobuf_codec{
    [](const void* message) -> std::size_t { return message_at(message).ByteSizeLong(); },
    [](const void* message, std::uint8_t* to) { message_at(message).SerializeWithCachedSizesToArray(to); },
    [](void* message, bytes_view from) -> bool {
      if (from.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        return false;  // protobuf's own limit
      return static_cast<google::protobuf::MessageLite*>(message)->ParseFromArray(
          from.data(), static_cast<int>(from.size()));
    },
};

}  // namespace coracle::calls
