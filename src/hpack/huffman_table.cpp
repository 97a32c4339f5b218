#include "hpack/huffman_table.hpp"

namespace coracle::hpack::huffman {

namespace {

// RFC 7541 Appendix B, by symbol; the last one is EOS. The codes themselves follow from the lengths.
constexpr std::array<std::uint8_t, symbol_count> lengths = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,  // 0x00
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,  // 0x10
    6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,   // 0x20
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10,  // 0x30
    13, 6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,   // 0x40
    7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,   // 0x50
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,   // 0x60
    6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7,  15, 11, 14, 13, 28,  // 0x70
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,  // 0x80
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,  // 0x90
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,  // 0xa0
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,  // 0xb0
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,  // 0xc0
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,  // 0xd0
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,  // 0xe0
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,  // 0xf0
    30,
};

consteval std::array<length_range, longest_code_bits + 1> make_ranges() {
  std::array<std::uint32_t, longest_code_bits + 1> counts{};
  for (const std::uint8_t length : lengths) ++counts[length];
  std::array<length_range, longest_code_bits + 1> result{};
  std::uint32_t next_code = 0;
  std::uint32_t next_symbol = 0;
  for (unsigned length = 1; length <= longest_code_bits; ++length) {
    next_code <<= 1;
    result[length].first_code = next_code;
    result[length].first_symbol = next_symbol;
    next_code += counts[length];
    next_symbol += counts[length];
    result[length].end = static_cast<std::uint64_t>(next_code) << (32 - length);
  }
  return result;
}
constexpr std::array<length_range, longest_code_bits + 1> computed_ranges = make_ranges();
static_assert(computed_ranges[longest_code_bits].end == std::uint64_t{1} << 32, "the code is not complete");

consteval std::array<code, symbol_count> make_codes() {
  std::array<code, symbol_count> result{};
  std::array<std::uint32_t, longest_code_bits + 1> used{};
  for (std::size_t symbol = 0; symbol < symbol_count; ++symbol) {
    const unsigned length = lengths[symbol];
    result[symbol] = {computed_ranges[length].first_code + used[length]++, length};
  }
  return result;
}
constexpr std::array<code, symbol_count> computed_codes = make_codes();
static_assert(computed_codes['0'].bits == 0x0 && computed_codes['~'].bits == 0x1ffd &&
              computed_codes[0].bits == 0x1ff8 && computed_codes[end_of_string_symbol].bits == 0x3fffffff);

consteval std::array<std::uint16_t, symbol_count> make_symbols_by_code() {
  std::array<std::uint16_t, symbol_count> result{};
  for (std::uint16_t symbol = 0; symbol < symbol_count; ++symbol) {
    const length_range& range = computed_ranges[lengths[symbol]];
    result[range.first_symbol + computed_codes[symbol].bits - range.first_code] = symbol;
  }
  return result;
}

using window_array = std::array<window, std::size_t{1} << window_bits>;

consteval window_array make_windows() {
  window_array single{};
  for (std::size_t symbol = 0; symbol < 256; ++symbol) {
    const code c = computed_codes[symbol];
    if (c.length > window_bits) continue;
    const unsigned rest = window_bits - c.length;
    for (std::uint32_t i = 0; i < (1u << rest); ++i)
      single[(c.bits << rest) | i] = {static_cast<std::uint8_t>(symbol), 0,
                                      static_cast<std::uint8_t>(c.length),
                                      static_cast<std::uint8_t>(c.length)};
  }
  window_array result = single;
  for (std::uint32_t bits = 0; bits < result.size(); ++bits) {
    window& w = result[bits];
    if (w.first_bits == 0) continue;
    const window& next = single[(bits << w.first_bits) & (result.size() - 1)];
    // The bits that were shifted in are zeros, not data: only a code that ends before them counts.
    if (next.first_bits == 0 || w.first_bits + next.first_bits > static_cast<int>(window_bits)) continue;
    w.second = next.first;
    w.total_bits = static_cast<std::uint8_t>(w.first_bits + next.first_bits);
  }
  return result;
}

}  // namespace

constinit const std::array<code, symbol_count> codes = computed_codes;
constinit const std::array<std::uint8_t, symbol_count> code_lengths = lengths;
constinit const window_array windows = make_windows();
constinit const std::array<length_range, longest_code_bits + 1> ranges = computed_ranges;
constinit const std::array<std::uint16_t, symbol_count> symbols_by_code = make_symbols_by_code();

}  // namespace coracle::hpack::huffman
