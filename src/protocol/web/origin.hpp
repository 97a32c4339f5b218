// origin: the values of Host, :authority and Origin, and how they are compared (RFC 9110 7.2, RFC 6454).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::protocol::web {

// A host with an optional port. Borrows from the parsed text.
struct host_port {
  std::string_view host;  // an IPv6 address has no brackets here
  std::optional<std::uint16_t> port;
  bool ipv6 = false;
};

// Parses "name", "name:port", "1.2.3.4:port", "[::1]" or "[::1]:port". Returns nullopt for anything else:
// user information, an empty host, an empty port, a port above 65535, an IPv6 address without brackets, an
// address in brackets that is malformed, or a character that no host contains.
[[nodiscard]] std::optional<host_port> parse_host_port(std::string_view text) noexcept;

// The value of an Origin field: "scheme://host[:port]", or "null" for an opaque origin.
struct origin {
  bool opaque = false;  // "null": a sandboxed frame, a file, or a redirect across origins; equal to none
  std::string_view scheme;
  host_port where;

  // The port, or the default of the scheme; nullopt for a scheme without one.
  [[nodiscard]] std::optional<std::uint16_t> effective_port() const noexcept;
};

// Returns nullopt if the text is not an origin, for example because it has a path.
[[nodiscard]] std::optional<origin> parse_origin(std::string_view text) noexcept;

// The default port of "http" and "https"; nullopt for other schemes.
[[nodiscard]] std::optional<std::uint16_t> default_port(std::string_view scheme) noexcept;

// RFC 6454 5: scheme, host and port are equal; names and schemes ignore the case. An opaque origin is not
// equal to any origin, not even to itself.
[[nodiscard]] bool same_origin(const origin& a, const origin& b) noexcept;

// Whether the hosts are equal: the same name in any case, or the same address in any notation of IPv6.
[[nodiscard]] bool same_host(std::string_view a, std::string_view b) noexcept;

// Whether `host` (without a port; an IPv6 address without brackets) is "localhost" or an address of the
// loopback interface: 127.0.0.0/8, ::1, ::ffff:127.0.0.0/104. Names below "localhost" are not accepted,
// because not every resolver maps them to the loopback address (RFC 6761 6.3), and a server that checks Host
// against DNS rebinding relies on this function.
[[nodiscard]] bool is_loopback_host(std::string_view host) noexcept;

}  // namespace coracle::protocol::web
