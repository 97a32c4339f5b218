// base64: the encoding of -bin metadata (RFC 4648 section 4): written without padding, read with or without.
#pragma once

#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

void base64_encode(std::string_view bytes, std::string& out);
// Returns false if the text is not valid base64; `out` is then unspecified.
bool base64_decode(std::string_view text, std::string& out);

}  // namespace coracle::protocol::grpc
