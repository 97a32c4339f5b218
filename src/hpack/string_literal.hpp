// Encodes string literals and literal fields (RFC 7541 5.2, 6.2).
#pragma once

#include "hpack/integer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::hpack {

// Writes length and characters, Huffman-encoded if that is shorter. Writes at most text.size() + 6 bytes and
// does not touch the bytes beyond. The text must be shorter than 4 GiB.
[[nodiscard]] std::uint8_t* write_string(std::uint8_t* out, std::string_view text) noexcept;

// The leading bit pattern of a literal, and the number of bits that remain for the index of its name (RFC
// 7541 6.2).
struct literal_form {
  std::uint8_t pattern;
  std::uint8_t prefix_bits;
};
inline constexpr literal_form literal_with_indexing{0x40, 6};
inline constexpr literal_form literal_without_indexing{0x00, 4};
inline constexpr literal_form literal_never_indexed{0x10, 4};

// Writes a whole literal field. If name_index is 0, the name is written as a literal, too.
[[nodiscard]] std::uint8_t* write_literal(std::uint8_t* out, literal_form form, std::uint32_t name_index,
                                          std::string_view name, std::string_view value) noexcept;

// The maximum number of bytes that write_literal() writes.
constexpr std::size_t literal_bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
  return name_bytes + value_bytes + 3 * integer_bytes_max;
}

}  // namespace coracle::hpack
