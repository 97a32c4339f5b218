// base64 for -bin metadata (RFC 4648 section 4): written without padding, read with or without.
#pragma once

#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

void base64_encode(std::string_view bytes, std::string& out);
// False for text that is no base64; `out` is then unspecified.
bool base64_decode(std::string_view text, std::string& out);

}  // namespace coracle::protocol::grpc
