// host_names: the names of a server's certificate: DNS names and IP addresses.
#pragma once

#include <string>
#include <vector>

namespace coracle::tools {

// Formats the names as a subjectAltName in OpenSSL's syntax, each once: "DNS:localhost,IP:127.0.0.1". Throws
// usage_failure for text that is neither an address nor a DNS name (RFC 1123 2.1; underscores, which
// container networks use, and a leading "*." are accepted).
std::string subject_alternative_names(const std::vector<std::string>& names);

}  // namespace coracle::tools
