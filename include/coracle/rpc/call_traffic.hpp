// call_traffic: the number and the size of the messages that a call has exchanged.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>

namespace coracle {

/// Counts the messages that were delivered to the handler or reader, and those that were written.
///
/// Bytes are the size of the messages on the wire (compressed, if they are), without the 5-byte prefix of
/// each envelope.
struct call_traffic {
  std::uint64_t messages_received = 0;  ///< delivered to the handler or reader
  std::uint64_t messages_sent = 0;      ///< passed to the connection
  std::uint64_t bytes_received = 0;     ///< of the received messages, on the wire
  std::uint64_t bytes_sent = 0;         ///< of the sent messages, on the wire
};

/// The size of a message as the application encodes it, and on the wire (compressed, if it is).
///
/// Neither includes the 5-byte gRPC prefix or the HTTP/2 framing, as gRFC A66 specifies.
struct message_size {
  std::uint64_t bytes = 0;       ///< as the application encodes it
  std::uint64_t wire_bytes = 0;  ///< as it is sent, compressed if it is
};

}  // namespace coracle
