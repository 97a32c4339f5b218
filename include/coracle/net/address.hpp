// address: an IPv4, IPv6 or UNIX socket address, as a value.
#pragma once

#include "coracle/base/result.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net {

/// The address that a stream connects to or a listener binds: IPv4, IPv6 or a UNIX path. Holds a literal,
/// never a host name: this class does not query DNS. Any thread may use and copy its own object.
class address {
 public:
  /// The kinds of addresses.
  enum class family : std::uint8_t {
    none,      ///< a default-constructed address
    ipv4,      ///< four bytes and a port
    ipv6,      ///< 16 bytes, a port and a scope
    path,  ///< a UNIX socket in the file system; without a name: one that was not bound, as of a client
    abstract,  ///< a UNIX socket in Linux's abstract namespace
  };

  /// No address: its kind is none.
  address() noexcept = default;
  /// Makes an IPv4 address from its bytes in network byte order.
  static address ipv4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) noexcept;
  /// Makes an IPv6 address. `scope` is the interface index that link-local addresses need, and 0 for all
  /// others.
  static address ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port,
                      std::uint32_t scope = 0) noexcept;
  /// Makes 127.0.0.1.
  static address loopback_v4(std::uint16_t port) noexcept { return ipv4({127, 0, 0, 1}, port); }
  /// Makes [::1].
  static address loopback_v6(std::uint16_t port) noexcept;
  /// Makes the address of a UNIX socket file. Fails with INVALID_ARGUMENT when the path is empty or longer
  /// than the kernel's limit of 107 bytes.
  static result<address> path(std::string_view path);
  /// Makes the address of a UNIX socket in Linux's abstract namespace. Fails as path() does.
  static result<address> abstract(std::string_view name);
  /// The address of a UNIX socket that was not bound, as those of clients: a path without a name.
  static address unnamed_unix() noexcept;

  /// Parses "127.0.0.1:50051", "[::1]:0", "[fe80::1%2]:80", "unix:relative", "unix:/path", "unix:///path" or
  /// "unix-abstract:name". Fails with INVALID_ARGUMENT and a message that suggests a fix for any other text.
  static result<address> parse(std::string_view text);

  /// Returns which kind of address this is.
  [[nodiscard]] family kind() const noexcept { return family_; }
  /// Returns whether this is an IPv4 or IPv6 address.
  [[nodiscard]] bool is_ip() const noexcept { return family_ == family::ipv4 || family_ == family::ipv6; }
  /// Returns whether this is the address of a UNIX socket.
  [[nodiscard]] bool is_unix() const noexcept {
    return family_ == family::path || family_ == family::abstract;
  }
  /// Returns whether only this machine reaches the address: 127.0.0.0/8, ::1 and UNIX sockets.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// Returns the port, or 0 for UNIX sockets.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Returns the same address with another port; unchanged for UNIX sockets.
  [[nodiscard]] address with_port(std::uint16_t port) const;
  /// Returns the path or the abstract name; empty for IP addresses.
  [[nodiscard]] const std::string& name() const noexcept;
  /// Returns the address in network byte order: the first 4 bytes for ipv4, all 16 for ipv6.
  [[nodiscard]] const std::array<std::uint8_t, 16>& ip_bytes() const noexcept { return ip_; }
  /// Returns the interface index of a link-local IPv6 address; 0 for others.
  [[nodiscard]] std::uint32_t scope() const noexcept { return scope_; }
  /// Returns the text that parse() accepts, or "(none)" for a default-constructed address.
  [[nodiscard]] std::string to_string() const;

  /// Compare the parts of addresses; the order is that of their names, then of their bytes.
  /// @{
  friend bool operator==(const address& a, const address& b) noexcept { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const address& a, const address& b) noexcept;
  /// @}

 private:
  std::shared_ptr<const std::string> name_;  // null: none, as in most addresses
  std::array<std::uint8_t, 16> ip_{};
  std::uint32_t scope_ = 0;
  std::uint16_t port_ = 0;
  family family_ = family::none;
};

/// Writes address::to_string() to `out`.
std::ostream& operator<<(std::ostream& out, const address& a);

/// Parses like address::parse() what a server listens on, where some texts stand for two addresses, the one
/// of IPv4 first: "localhost:80" for both loopback addresses, without a DNS query; "*:80" and "0.0.0.0:80"
/// for all interfaces (0.0.0.0, then [::]). Fails with INVALID_ARGUMENT for any other name, with a message
/// that says that names need a resolver. The result is never empty.
result<std::vector<address>> parse_addresses(std::string_view text);

}  // namespace coracle::net
