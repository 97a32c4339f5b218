// error_code: HTTP/2 error codes (RFC 9113 section 7).
#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::http2 {

enum class error_code : std::uint32_t {
  no_error = 0x0,
  protocol_error = 0x1,
  internal_error = 0x2,
  flow_control_error = 0x3,
  settings_timeout = 0x4,
  stream_closed = 0x5,
  frame_size_error = 0x6,
  refused_stream = 0x7,
  cancel = 0x8,
  compression_error = 0x9,
  connect_error = 0xa,
  enhance_your_calm = 0xb,
  inadequate_security = 0xc,
  http_1_1_required = 0xd,
};

// Returns "PROTOCOL_ERROR" and so on; "UNKNOWN_ERROR" for an unknown code.
std::string_view name_of(error_code code) noexcept;

// Which side ended a stream or connection: the engine, because the peer violated a rule; the local user; or
// the peer.
enum class initiator : std::uint8_t { library, user, peer };

}  // namespace coracle::http2
