#include "protocol/grpc/deframer.hpp"

#include "protocol/envelope.hpp"

namespace coracle::protocol::grpc {

using protocol::envelope_prefix_bytes;

deframer::state deframer::peek(bytes_view bytes, std::uint32_t most_bytes, framed_message& message) noexcept {
  if (bytes.empty()) return state::need_more;
  if (bytes[0] > 1) return state::bad_flag;
  if (bytes.size() < envelope_prefix_bytes) return state::need_more;
  const auto prefix = protocol::read_envelope_prefix(bytes.data());
  if (prefix.length_bytes > most_bytes) return state::too_large;
  if (bytes.size() - envelope_prefix_bytes < prefix.length_bytes) return state::need_more;
  message.body = bytes.subspan(envelope_prefix_bytes, prefix.length_bytes);
  message.compressed = prefix.flags != 0;
  return state::message;
}

void deframer::pop(const framed_message& message) noexcept {
  constexpr std::size_t kept_memory_bytes = 64u << 10;  // kept after a large message
  kept_.consume(envelope_prefix_bytes + message.body.size());
  kept_.release(kept_memory_bytes);
}

}  // namespace coracle::protocol::grpc
