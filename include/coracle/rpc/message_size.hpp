// message_size: of one message on its way.
#pragma once

#include <cstdint>

namespace coracle {

// As the application has it, and as it travels (compressed, if it is). Without the five bytes of gRPC's prefix and
// HTTP/2's framing, as gRFC A66 counts.
struct message_size {
  std::uint64_t bytes = 0;
  std::uint64_t wire_bytes = 0;
};

}  // namespace coracle
