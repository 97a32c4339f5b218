// The tables of the Huffman code, computed at compile time from the code lengths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace coracle::hpack::huffman {

inline constexpr std::size_t symbol_count = 257;
inline constexpr std::uint16_t end_of_string_symbol = 256;
inline constexpr unsigned shortest_code_bits = 5;
inline constexpr unsigned longest_code_bits = 30;

struct code {
  std::uint32_t bits;    // right-aligned
  std::uint32_t length;  // in bits
};
extern const std::array<code, symbol_count> codes;
extern const std::array<std::uint8_t, symbol_count> code_lengths;

// What the next `window_bits` bits say: one or two characters whose codes end within them.
// 12 bits hold two of the 36 most frequent characters, whose codes have five or six bits, in a table of 16 KiB;
// 11 bits cost a third more time on paths, 13 bits (32 KiB) save a twelfth.
inline constexpr unsigned window_bits = 12;
struct window {
  std::uint8_t first;
  std::uint8_t second;  // 0 if there is only one
  std::uint8_t first_bits;  // 0 if the first code is longer than the window
  std::uint8_t total_bits;
};
extern const std::array<window, std::size_t{1} << window_bits> windows;

// The code is canonical: codes of one length are consecutive numbers, in order of their symbols, and all
// longer codes are larger as fractions. So a code's length follows from comparing the next 32 bits with the
// end of each length's range.
struct length_range {
  std::uint64_t end;  // of the codes of this length, left-aligned in 32 bits
  std::uint32_t first_code;  // right-aligned
  std::uint32_t first_symbol;  // its place in symbols_by_code
};
extern const std::array<length_range, longest_code_bits + 1> ranges;
extern const std::array<std::uint16_t, symbol_count> symbols_by_code;

}  // namespace coracle::hpack::huffman
