// envelope: a flag byte, a four-byte length, and that many bytes. gRPC, gRPC-Web and Connect streams share
// it; it does not interpret the flags.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::protocol {

inline constexpr std::size_t envelope_prefix_bytes = 5;

struct envelope_prefix {
  std::uint8_t flags = 0;
  std::uint32_t length_bytes = 0;
};

// Reads at least envelope_prefix_bytes.
inline envelope_prefix read_envelope_prefix(const std::uint8_t* p) noexcept {
  return {p[0], (std::uint32_t{p[1]} << 24) | (std::uint32_t{p[2]} << 16) | (std::uint32_t{p[3]} << 8) |
                    std::uint32_t{p[4]}};
}

inline void write_envelope_prefix(std::uint8_t* p, std::uint8_t flags, std::uint32_t length_bytes) noexcept {
  p[0] = flags;
  p[1] = static_cast<std::uint8_t>(length_bytes >> 24);
  p[2] = static_cast<std::uint8_t>(length_bytes >> 16);
  p[3] = static_cast<std::uint8_t>(length_bytes >> 8);
  p[4] = static_cast<std::uint8_t>(length_bytes);
}

}  // namespace coracle::protocol
