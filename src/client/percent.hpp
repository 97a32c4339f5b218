// percent_decoded: text of a URI without its escapes (RFC 3986 2.1).
#pragma once

#include <string>
#include <string_view>

namespace coracle::client {

// What is no escape stays as it is: "[fe80::1%2]:80" is written without "%25" everywhere but in RFC 6874.
std::string percent_decoded(std::string_view text);

}  // namespace coracle::client
