// get_request: unary calls without side effects as GET requests, whose message stands in the query
// ("Unary-Get-Request").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::connect {

struct get_request {
  bool has_version = false;  // connect=v1 was present, which a server may require
  std::string codec;         // encoding
  std::string compression;   // a name of an encoding; empty if absent
  std::string message;       // decoded, but still compressed

  friend bool operator==(const get_request&, const get_request&) = default;
};

// Parses the query of a request target, without the '?'. If it is invalid, returns nullopt and sets
// `reason` to a sentence for the peer that names the parameter. Unknown parameters are ignored; one of the
// protocol's that occurs twice is an error. A "base64" other than "1" is ignored, as the protocol requires.
[[nodiscard]] std::optional<get_request> parse_get_request(std::string_view query, std::string& reason);

// The default of a client's limit for the length of a request target. RFC 9110 4.1 recommends that servers
// and proxies support 8000 bytes at least.
inline constexpr std::size_t default_get_target_bytes_max = 8000;

struct get_target_parts {
  std::string_view path;  // "/package.Service/Method"
  std::string_view codec;
  std::string_view compression;  // of `message`; empty: not compressed
  std::string_view message;
};
// Returns the request target; nullopt if it would exceed `bytes_max`, and the client must use POST. The
// message is percent-encoded if it is uncompressed JSON, and base64 otherwise. Parameters have the order of
// the protocol's document, so that shared caches find equal requests.
[[nodiscard]] std::optional<std::string> write_get_target(
    const get_target_parts& parts, std::size_t bytes_max = default_get_target_bytes_max);

}  // namespace coracle::protocol::connect
