// crc32c: the checksum of snappy's framing format.
#pragma once

#include "coracle/base/bytes.hpp"

#include <array>
#include <cstdint>

namespace coracle::compress {

// Returns the CRC with the Castagnoli polynomial, reflected (RFC 3720 12.1).
inline std::uint32_t crc32c(bytes_view bytes) noexcept {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) ? 0x82f63b78u : 0u);
      t[i] = c;
    }
    return t;
  }();
  std::uint32_t c = 0xffffffffu;
  for (const std::uint8_t b : bytes) c = (c >> 8) ^ table[(c ^ b) & 0xff];
  return ~c;
}

}  // namespace coracle::compress
