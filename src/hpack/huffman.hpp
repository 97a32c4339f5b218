// huffman: the Huffman code for strings (RFC 7541 5.2 and Appendix B).
#pragma once

#include "coracle/base/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::hpack::huffman {

inline constexpr std::size_t symbol_count = 257;
inline constexpr std::uint16_t end_of_string_symbol = 256;
inline constexpr unsigned longest_code_bits = 30;

struct code {
  std::uint32_t bits;    // right-aligned
  std::uint32_t length;  // in bits
};
extern const std::array<code, symbol_count> codes;
extern const std::array<std::uint8_t, symbol_count> code_lengths;

// The result of decoding the next `window_bits` bits: one or two characters whose codes end within them. 12
// bits hold two of the 36 most frequent characters, whose codes have five or six bits, in a table of 16 KiB;
// 11 bits take a third longer to decode paths, and 13 bits (32 KiB) save only a twelfth.
inline constexpr unsigned window_bits = 12;
struct window {
  std::uint8_t first;
  std::uint8_t second;  // 0 if there is only one
  std::uint8_t first_bits;  // 0 if the first code is longer than the window
  std::uint8_t total_bits;
};
extern const std::array<window, std::size_t{1} << window_bits> windows;

// The code is canonical: codes of the same length are consecutive numbers in the order of their symbols, and
// all longer codes are larger when compared as fractions. The length of a code is therefore found by
// comparing the next 32 bits with the end of each length's range.
struct length_range {
  std::uint64_t end;  // one past the codes of this length, left-aligned in 32 bits
  std::uint32_t first_code;  // right-aligned
  std::uint32_t first_symbol;  // its index in symbols_by_code
};
extern const std::array<length_range, longest_code_bits + 1> ranges;
extern const std::array<std::uint16_t, symbol_count> symbols_by_code;

// Returns the number of bytes that encode() writes for this text.
[[nodiscard]] std::size_t encoded_bytes(std::string_view text) noexcept;
// Writes exactly encoded_bytes(text) bytes and returns their end.
[[nodiscard]] std::uint8_t* encode(std::uint8_t* out, std::string_view text) noexcept;

enum class error : std::uint8_t {
  none,
  end_of_string,  // the input contains the EOS symbol
  padding,  // eight or more bits are left over, or they are not all ones
};

struct decoded {
  std::size_t bytes = 0;  // written to `out`; unspecified after an error
  huffman::error error = huffman::error::none;
};

// Returns the number of bytes that decode() may write for `encoded` bytes of input, including bytes beyond
// the result: the shortest code has five bits, and two characters are stored at a time.
[[nodiscard]] constexpr std::size_t decoded_bound(std::size_t encoded) noexcept {
  return encoded * 8 / 5 + 2;
}

// Decodes the whole input. `out` must have room for decoded_bound(input.size()) bytes.
[[nodiscard]] decoded decode(bytes_view input, char* out) noexcept;

}  // namespace coracle::hpack::huffman
