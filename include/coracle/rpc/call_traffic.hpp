// call_traffic: how many messages a call has exchanged, and how large they were.
#pragma once

#include <cstdint>

namespace coracle {

// Messages that were handed over to the handler or reader, and such as were written. Bytes are those of the
// messages as they travel (compressed, where they are), without the five of each envelope.
struct call_traffic {
  std::uint64_t messages_received = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
};

}  // namespace coracle
