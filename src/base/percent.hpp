// percent: the percent-escapes of URIs (RFC 3986 2.1), of grpc-message and of baggage.
#pragma once

#include <string>
#include <string_view>

namespace coracle::base {

// Appends "%XX".
void percent_escape(char c, std::string& out);
// Decodes leniently, as gRPC requires: an invalid escape is kept unchanged. Thus the target "[fe80::1%2]:80"
// is accepted, which RFC 6874 alone writes with "%25".
[[nodiscard]] std::string percent_decode(std::string_view text);

}  // namespace coracle::base
