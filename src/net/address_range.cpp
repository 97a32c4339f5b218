#include "net/address_range.hpp"

#include <algorithm>
#include <cstddef>

namespace coracle::net {

namespace {

std::array<std::uint8_t, 16> first_bits(std::array<std::uint8_t, 16> bytes, std::uint32_t bits) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint32_t before = static_cast<std::uint32_t>(i) * 8;
    if (bits <= before) bytes[i] = 0;
    else if (bits < before + 8) bytes[i] = static_cast<std::uint8_t>(bytes[i] & (0xFF00U >> (bits - before)));
  }
  return bytes;
}

}  // namespace

address_range address_range::of(const address& a, std::uint32_t bits) noexcept {
  return {a.kind(), first_bits(a.ip_bytes(), bits), bits};
}

bool address_range::contains(const address& a) const noexcept {
  if (a.kind() != family) return false;
  const auto& of = a.ip_bytes();
  const auto whole = static_cast<std::ptrdiff_t>(bits / 8);
  if (!std::equal(bytes.begin(), bytes.begin() + whole, of.begin())) return false;
  const std::uint32_t rest = bits % 8;
  if (rest == 0) return true;
  const auto at = static_cast<std::size_t>(whole);
  return ((bytes[at] ^ of[at]) & (0xFF00U >> rest) & 0xFFU) == 0;
}

address without_mapping(const address& a) {
  constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const auto& bytes = a.ip_bytes();
  if (a.kind() != address::family::ipv6 || !std::equal(mapped.begin(), mapped.end(), bytes.begin())) return a;
  return address::ipv4({bytes[12], bytes[13], bytes[14], bytes[15]}, a.port());
}

}  // namespace coracle::net
