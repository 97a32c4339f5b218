// tls_record: what the faults of TLS handshakes read and write of TLS's records (RFC 8446 5.1).
#pragma once

#include <optional>
#include <string_view>

namespace coracle::tools::chaos {

// Whether the first bytes of a client begin a ClientHello. Returns nothing as long as they are too few.
[[nodiscard]] std::optional<bool> begins_handshake(std::string_view bytes) noexcept;

// What a server sends that has no cipher suite in common with its client: the fatal alert handshake_failure
// (RFC 8446 6.2).
inline constexpr std::string_view handshake_failure("\x15\x03\x03\x00\x02\x02\x28", 7);

}  // namespace coracle::tools::chaos
