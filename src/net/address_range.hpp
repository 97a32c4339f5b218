// address_range: IP addresses with the same first bits, as rules for connections name them.
#pragma once

#include "coracle/net/address.hpp"

#include <array>
#include <cstdint>

namespace coracle::net {

// Addresses of one family with the same first bits.
struct address_range {
  address::family family = address::family::none;
  std::array<std::uint8_t, 16> bytes{};  // with zeros after the first `bits`
  std::uint32_t bits = 0;

  // Of an IP address, all of whose bits are significant, or fewer: `bits` is at most bits_of() its family.
  [[nodiscard]] static address_range of(const address& a, std::uint32_t bits) noexcept;
  [[nodiscard]] static constexpr std::uint32_t bits_of(address::family f) noexcept {
    return f == address::family::ipv4 ? 32 : 128;
  }

  [[nodiscard]] bool contains(const address& a) const noexcept;

  friend bool operator==(const address_range&, const address_range&) = default;
  friend auto operator<=>(const address_range&, const address_range&) = default;
};

// A socket of both families has clients of IPv4 as ::ffff:0:0/96 (RFC 4291 2.5.5.2); rules mean 10.0.0.0/8.
[[nodiscard]] address without_mapping(const address& a);

}  // namespace coracle::net
