#include "protocol/grpc/deframer.hpp"

#include "protocol/envelope.hpp"

namespace coracle::protocol::grpc {

using protocol::envelope_prefix_bytes;

void deframer::pop(const framed_message& message) noexcept {
  constexpr std::size_t kept_memory_bytes = 64u << 10;  // kept after a large message
  kept_.consume(envelope_prefix_bytes + message.body.size());
  kept_.release(kept_memory_bytes);
}

}  // namespace coracle::protocol::grpc
