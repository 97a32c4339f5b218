// base64: bytes as text (RFC 4648 section 4), for binary metadata, credentials of proxies, and files of JSON.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <string>
#include <string_view>

namespace coracle::base {

/// Appends `bytes` to `out`, without padding, as gRPC writes binary metadata.
void base64_encode(std::string_view bytes, std::string& out);
/// Returns `bytes` with padding, as most other formats require.
[[nodiscard]] std::string padded_base64(std::string_view bytes);
/// Accepts text with or without padding. Returns false if the text is not valid base64; `out` is then
/// unspecified.
[[nodiscard]] bool base64_decode(std::string_view text, std::string& out);

}  // namespace coracle::base
