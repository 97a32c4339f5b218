// percent_decoded: decodes the percent-escapes of a URI (RFC 3986 2.1).
#pragma once

#include <string>
#include <string_view>

namespace coracle::client {

// Leaves invalid escapes as they are: "[fe80::1%2]:80" is written without "%25" everywhere except in RFC
// 6874.
std::string percent_decoded(std::string_view text);

}  // namespace coracle::client
