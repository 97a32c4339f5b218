// Whom a server's certificate is for: DNS names and IP addresses.
#pragma once

#include <string>
#include <vector>

namespace coracle::tools {

// As OpenSSL's extensions spell a subjectAltName: "DNS:localhost,IP:127.0.0.1". Each name once. Throws usage_failure for what
// is neither a DNS name (RFC 1123 2.1; underscores, as container networks have them, and "*." at the front are let
// through) nor an address.
std::string subject_alternative_names(const std::vector<std::string>& names);

}  // namespace coracle::tools
