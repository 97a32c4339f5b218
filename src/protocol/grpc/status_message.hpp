// status_message: grpc-message on the wire: percent-encoded UTF-8 (grpc/grpc doc/PROTOCOL-HTTP2.md).
#pragma once

#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// Appends `text`. Bytes outside 0x20..0x7E and '%' are written as %XX, and so are a leading and a trailing
// space, because HTTP/2 forbids whitespace at the edges of a value (RFC 9113 8.2.1). base::percent_decode()
// is the reverse.
void encode_message(std::string_view text, std::string& out);

}  // namespace coracle::protocol::grpc
