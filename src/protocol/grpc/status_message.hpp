// grpc-message on the wire: percent-encoded UTF-8 (grpc/grpc doc/PROTOCOL-HTTP2.md).
#pragma once

#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// Appends `text` with everything outside 0x20..0x7E, and '%', as %XX; blanks at its edges likewise, for
// HTTP/2 forbids them there (RFC 9113 8.2.1).
void percent_encode(std::string_view text, std::string& out);
// Lenient, as asked for: an escape that is none stays as it is.
std::string percent_decode(std::string_view wire);

}  // namespace coracle::protocol::grpc
