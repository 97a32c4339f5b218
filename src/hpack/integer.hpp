// Integers with a prefix (RFC 7541 5.1): writing and reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace coracle::hpack {

// The maximum size of an encoded 32-bit integer: the prefix and five groups of seven bits.
inline constexpr std::size_t integer_bytes_max = 6;

// Writes `value` into the low `prefix_bits` (1 to 8) of the first byte, whose other bits are `pattern`,
// followed by as many bytes as required. Returns the end.
inline std::uint8_t* write_integer(std::uint8_t* out, unsigned prefix_bits, unsigned pattern,
                                   std::uint32_t value) noexcept {
  const std::uint32_t prefix_max = (1u << prefix_bits) - 1;
  if (value < prefix_max) {
    *out++ = static_cast<std::uint8_t>(pattern | value);
    return out;
  }
  *out++ = static_cast<std::uint8_t>(pattern | prefix_max);
  for (value -= prefix_max; value >= 0x80; value >>= 7) *out++ = static_cast<std::uint8_t>(value | 0x80);
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

enum class integer_error : std::uint8_t { none, truncated, too_large };

// Reads an integer at `at`, which must be before `end`, and advances `at` past it. Rejects values above 2^32
// - 1 and more than five continuation bytes (padding zeros), as RFC 7541 5.1 requires.
inline integer_error read_integer(const std::uint8_t*& at, const std::uint8_t* end, unsigned prefix_bits,
                                  std::uint32_t& value) noexcept {
  const std::uint32_t prefix_max = (1u << prefix_bits) - 1;
  value = *at++ & prefix_max;
  if (value < prefix_max) return integer_error::none;
  std::uint64_t sum = prefix_max;
  for (unsigned shift = 0; shift <= 28; shift += 7) {
    if (at == end) return integer_error::truncated;
    const std::uint8_t group = *at++;
    sum += static_cast<std::uint64_t>(group & 0x7f) << shift;
    if ((group & 0x80) == 0) {
      if (sum > std::numeric_limits<std::uint32_t>::max()) return integer_error::too_large;
      value = static_cast<std::uint32_t>(sum);
      return integer_error::none;
    }
  }
  return integer_error::too_large;
}

}  // namespace coracle::hpack
