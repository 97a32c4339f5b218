// endpoint: a socket address in the simulated network.
#pragma once

#include "runtime/backend.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace coracle::sim {

struct endpoint {
  enum class family : std::uint8_t { none, ipv4, ipv6, local };
  family kind = family::none;
  std::array<std::uint8_t, 16> ip{};  // ipv4 uses the first 4
  std::uint16_t port = 0;
  std::string path;  // of a UNIX socket, with a leading zero when abstract

  [[nodiscard]] bool is_loopback() const noexcept;
  [[nodiscard]] bool is_wildcard() const noexcept;
  friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

endpoint from_raw(const runtime_internal::raw_address& raw);
runtime_internal::raw_address to_raw(const endpoint& e) noexcept;

}  // namespace coracle::sim
