#include "tools/chaos/tls_record.hpp"

#include <algorithm>

namespace coracle::tools::chaos {

namespace {

// A record's type and the first byte of its version, which is the same in all versions (RFC 8446 5.1, B.1).
constexpr std::string_view handshake_record("\x16\x03", 2);
constexpr std::size_t message_type_at = 5;
constexpr char client_hello = 1;

}  // namespace

std::optional<bool> begins_handshake(std::string_view bytes) noexcept {
  const std::size_t n = std::min(bytes.size(), handshake_record.size());
  if (bytes.substr(0, n) != handshake_record.substr(0, n)) return false;
  if (bytes.size() <= message_type_at) return std::nullopt;
  return bytes[message_type_at] == client_hello;
}

}  // namespace coracle::tools::chaos
