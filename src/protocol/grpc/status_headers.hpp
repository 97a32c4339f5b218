// status_headers: a status on the wire: grpc-status, grpc-message and grpc-status-details-bin, and the codes
// of ends that carry no grpc-status.
#pragma once

#include "coracle/base/impl/base64.hpp"
#include "coracle/base/status.hpp"
#include "protocol/grpc/header_names.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// grpc-message is percent-encoded UTF-8 (grpc/grpc doc/PROTOCOL-HTTP2.md).
// Appends `text`. Bytes outside 0x20..0x7E and '%' are written as %XX, and so are a leading and a trailing
// space, because HTTP/2 forbids whitespace at the edges of a value (RFC 9113 8.2.1). base::percent_decode()
// is the reverse.
void encode_message(std::string_view text, std::string& out);
// Whether encode_message() would not change it.
[[nodiscard]] bool is_plain_message(std::string_view text) noexcept;

// Adds the trailer fields of a status with to.add(name, value). This is the only writer of a status: the
// message is always percent-encoded.
template <class Block>
void add_status(Block& to, const status& s) {
  char digits[4];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<int>(s.code())).ptr;
  to.add(status_header, std::string_view(digits, static_cast<std::size_t>(end - digits)));
  std::string text;
  if (is_plain_message(s.message())) {
    if (!s.message().empty()) to.add(message_header, s.message());
  } else {
    encode_message(s.message(), text);
    to.add(message_header, text);
  }
  if (!s.details().empty()) {
    text.clear();
    base::base64_encode(s.details(), text);
    to.add(status_details_header, text);
  }
}

// Maps an HTTP status where a gRPC response was expected (doc/http-grpc-status-mapping.md).
status_code from_http_status(int http_status) noexcept;

// Maps an RST_STREAM code, RFC 9113 section 7 (doc/PROTOCOL-HTTP2.md, "Errors"). `unprocessed` is not needed
// here: REFUSED_STREAM alone expresses it.
status_code from_reset_code(std::uint32_t code) noexcept;

// Parses the decimal number of grpc-status. Returns UNKNOWN for a number out of range and for other text.
status_code parse_status_code(std::string_view text) noexcept;

}  // namespace coracle::protocol::grpc
