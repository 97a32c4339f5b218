// String literals on their way out (RFC 7541 5.2).
#pragma once

#include "hpack/integer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::hpack {

// Length and characters, Huffman-coded if that is shorter. At most text.size() + 6
// bytes, nothing beyond is touched. Texts must be shorter than 4 GiB.
[[nodiscard]] std::uint8_t* write_string(std::uint8_t* out, std::string_view text) noexcept;

// How a literal is marked, and the bits that are left for the name's index (RFC 7541 6.2).
struct literal_form {
  std::uint8_t pattern;
  std::uint8_t prefix_bits;
};
inline constexpr literal_form literal_with_indexing{0x40, 6};
inline constexpr literal_form literal_without_indexing{0x00, 4};
inline constexpr literal_form literal_never_indexed{0x10, 4};

// A whole literal field; name_index 0 writes the name out.
[[nodiscard]] std::uint8_t* write_literal(std::uint8_t* out, literal_form form, std::uint32_t name_index,
                                          std::string_view name, std::string_view value) noexcept;

// Bytes that write_literal() may need.
constexpr std::size_t literal_bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
  return name_bytes + value_bytes + 3 * integer_bytes_max;
}

}  // namespace coracle::hpack
