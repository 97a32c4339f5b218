// address: where a stream leads to or a listener waits: IPv4, IPv6 or a UNIX path, as a value.
#pragma once

#include "coracle/base/result.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net {

// A literal, never a name: nothing here asks DNS. Any thread may use and copy its own.
class address {
 public:
  enum class family : std::uint8_t {
    none,      // a default-made address
    ipv4,
    ipv6,
    path,      // a UNIX socket in the file system
    abstract,  // a UNIX socket in Linux's namespace of names
  };

  address() noexcept = default;
  static address ipv4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) noexcept;
  // `scope` is the interface's index that link-local addresses need, 0 for all others.
  static address ipv6(const std::array<std::uint8_t, 16>& bytes, std::uint16_t port,
                      std::uint32_t scope = 0) noexcept;
  static address loopback_v4(std::uint16_t port) noexcept { return ipv4({127, 0, 0, 1}, port); }
  static address loopback_v6(std::uint16_t port) noexcept;
  // INVALID_ARGUMENT when the path is empty or longer than the kernel's 107 bytes.
  static result<address> path(std::string_view path);
  static result<address> abstract(std::string_view name);

  // "127.0.0.1:50051", "[::1]:0", "[fe80::1%2]:80", "unix:relative", "unix:/path", "unix:///path" or
  // "unix-abstract:name". INVALID_ARGUMENT, with the mend, for everything else.
  static result<address> parse(std::string_view text);

  [[nodiscard]] family kind() const noexcept { return family_; }
  [[nodiscard]] bool is_ip() const noexcept { return family_ == family::ipv4 || family_ == family::ipv6; }
  [[nodiscard]] bool is_unix() const noexcept {
    return family_ == family::path || family_ == family::abstract;
  }
  [[nodiscard]] bool is_loopback() const noexcept;
  // 0 for UNIX sockets.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] address with_port(std::uint16_t port) const;
  // The path or the abstract name; empty for IP.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The first 4 for ipv4, all 16 for ipv6, in network order.
  [[nodiscard]] const std::array<std::uint8_t, 16>& ip_bytes() const noexcept { return ip_; }
  [[nodiscard]] std::uint32_t scope() const noexcept { return scope_; }
  // What parse() takes; "(none)" for a default-made address.
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const address&, const address&) = default;
  friend std::strong_ordering operator<=>(const address&, const address&) = default;

 private:
  std::string name_;
  std::array<std::uint8_t, 16> ip_{};
  std::uint32_t scope_ = 0;
  std::uint16_t port_ = 0;
  family family_ = family::none;
};

std::ostream& operator<<(std::ostream& out, const address& a);

// As parse(), and "localhost:80", which means both loopbacks (127.0.0.1, then [::1]) without asking DNS. Any
// other name is an INVALID_ARGUMENT that says that names need a resolver. Never empty.
result<std::vector<address>> parse_addresses(std::string_view text);

}  // namespace coracle::net
