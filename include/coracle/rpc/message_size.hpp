// message_size: the size of one message, decoded and on the wire.
#pragma once

#include <cstdint>

namespace coracle {

/// The size of a message as the application encodes it, and on the wire (compressed, if it is).
///
/// Neither includes the 5-byte gRPC prefix or the HTTP/2 framing, as gRFC A66 specifies.
struct message_size {
  std::uint64_t bytes = 0;
  std::uint64_t wire_bytes = 0;
};

}  // namespace coracle
