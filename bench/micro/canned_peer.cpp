#include "micro/canned_peer.hpp"

#include "http2/frame.hpp"
#include "protocol/envelope.hpp"

namespace bench {

namespace http2 = coracle::http2;
using coracle::bytes_view;

octets canned_message(std::size_t name_bytes) {
  octets message = {0x0a, static_cast<std::uint8_t>(name_bytes)};  // field 1, length-delimited
  for (std::size_t i = 0; i < name_bytes; ++i) message.push_back(static_cast<std::uint8_t>('a' + i % 26));
  return message;
}

octets canned_body(bytes_view message) {
  octets body(coracle::protocol::envelope_prefix_bytes);
  coracle::protocol::write_envelope_prefix(body.data(), 0, static_cast<std::uint32_t>(message.size()));
  body.insert(body.end(), message.begin(), message.end());
  return body;
}

void add_frame(octets& to, std::uint8_t type, std::uint8_t flags, std::uint32_t id, bytes_view payload) {
  std::uint8_t header[http2::frame_header_bytes];
  http2::write_frame_header(header, payload.size(), static_cast<http2::frame_type>(type), flags, id);
  to.insert(to.end(), header, header + sizeof header);
  to.insert(to.end(), payload.begin(), payload.end());
}

void add_credit(octets& to, std::uint32_t bytes) {
  std::uint8_t increment[4];
  http2::store_u32(increment, bytes);
  add_frame(to, 8, http2::flag::none, 0, increment);
}

}  // namespace bench
