#include "hpack/huffman.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace coracle::hpack::huffman {

namespace {

std::uint64_t load_big_endian(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return word;
}

// Loads 1 to 7 bytes, left-aligned and followed by zeros. The loads may overlap.
std::uint64_t load_big_endian(const std::uint8_t* from, std::size_t bytes) {
  const auto part = [from](std::size_t at) { return std::uint64_t{from[at]} << (56 - 8 * at); };
  if (bytes < 4) return part(0) | part(bytes / 2) | part(bytes - 1);
  const auto word = [from](std::size_t at) {
    std::uint32_t w;
    std::memcpy(&w, from + at, sizeof w);
    if constexpr (std::endian::native == std::endian::little) w = __builtin_bswap32(w);
    return std::uint64_t{w} << 32 >> (8 * at);
  };
  return word(0) | word(bytes - 4);
}

void store_big_endian(std::uint8_t* to, std::uint32_t word) {
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
  std::memcpy(to, &word, sizeof word);
}

struct long_code {
  std::uint16_t symbol;
  unsigned bits;
};

// Finds codes that are longer than a window. top: the next 32 bits.
long_code find_long_code(std::uint32_t top) {
  unsigned length = window_bits + 1;
  while (top >= ranges[length].end) ++length;  // terminates: the last range ends at 2^32
  const length_range& range = ranges[length];
  return {symbols_by_code[range.first_symbol + (top >> (32 - length)) - range.first_code], length};
}

// The unread bits, left-aligned in 64 bits and followed by zeros.
struct bit_reader {
  const std::uint8_t* at;
  const std::uint8_t* end;
  std::uint64_t bits = 0;
  unsigned count = 0;

  void drop(unsigned n) {
    bits <<= n;
    count -= n;
  }
  // Provides at least 56 bits. Requires at least eight bytes of input.
  void refill_fast() {
    bits |= load_big_endian(at) >> count;
    at += (63 - count) >> 3;
    count |= 56;
  }
  // Provides at least 56 bits, or all that are left: less than eight bytes.
  void refill() {
    const std::size_t bytes = std::min<std::size_t>(static_cast<std::size_t>(end - at), (64 - count) / 8);
    if (bytes == 0) return;
    bits |= load_big_endian(at, bytes) >> count;
    at += bytes;
    count += static_cast<unsigned>(8 * bytes);
  }
};

char* put(char* out, const window& w) {
  out[0] = static_cast<char>(w.first);
  out[1] = static_cast<char>(w.second);
  return out + 1 + (w.total_bits != w.first_bits);
}

// Decodes the last bytes of a string, and the last of their symbols one by one: a code may be incomplete
// there.
decoded decode_tail(bit_reader in, char* begin, char* out) {
  for (;;) {
    if (in.count < longest_code_bits) in.refill();
    if (in.count == 0) break;
    while (in.count >= window_bits) {
      const window& w = windows[in.bits >> (64 - window_bits)];
      if (w.first_bits == 0) break;
      out = put(out, w);
      in.drop(w.total_bits);
    }
    if (in.count < longest_code_bits && in.at != in.end) continue;
    // Padding is all ones (RFC 7541 5.2). Additional ones after the end make a lookup of an incomplete code
    // well-defined.
    const std::uint64_t bits = in.count < 64 ? in.bits | ~std::uint64_t{0} >> in.count : in.bits;
    if (bits == ~std::uint64_t{0} && in.count < longest_code_bits)
      break;  // padding: EOS is the only code of all ones
    const window& w = windows[bits >> (64 - window_bits)];
    if (w.first_bits == 0) {
      const long_code c = find_long_code(static_cast<std::uint32_t>(bits >> 32));
      if (c.bits > in.count) break;
      if (c.symbol == end_of_string_symbol) return {0, error::end_of_string};
      *out++ = static_cast<char>(c.symbol);
      in.drop(c.bits);
    } else if (w.total_bits <= in.count) {
      out = put(out, w);
      in.drop(w.total_bits);
    } else if (w.first_bits <= in.count) {
      *out++ = static_cast<char>(w.first);
      in.drop(w.first_bits);
    } else {
      break;
    }
  }
  // The rest is not a code, so it must be the first bits of EOS, which are all ones, and less than a byte.
  if (in.count > 7 || in.bits != ~(~std::uint64_t{0} >> in.count)) return {0, error::padding};
  return {static_cast<std::size_t>(out - begin), error::none};
}

}  // namespace

std::size_t encoded_bytes(std::string_view text) noexcept {
  std::size_t bits = 0;
  for (const char c : text) bits += code_lengths[static_cast<unsigned char>(c)];
  return (bits + 7) / 8;
}

std::uint8_t* encode(std::uint8_t* out, std::string_view text) noexcept {
  std::uint64_t bits = 0;  // the low `count` bits have not been written yet
  unsigned count = 0;
  for (const char c : text) {
    const code& next = codes[static_cast<unsigned char>(c)];
    bits = bits << next.length | next.bits;
    count += next.length;
    if (count >= 32) {
      count -= 32;
      store_big_endian(out, static_cast<std::uint32_t>(bits >> count));
      out += 4;
    }
  }
  const unsigned padding = (8 - count % 8) % 8;
  bits = bits << padding | ((1u << padding) - 1);
  for (count += padding; count != 0; count -= 8) *out++ = static_cast<std::uint8_t>(bits >> (count - 8));
  return out;
}

decoded decode(bytes_view input, char* const begin) noexcept {
  // After each fast refill there are enough bits for this many windows.
  constexpr int windows_per_refill = 56 / window_bits;
  bit_reader in{input.data(), input.data() + input.size()};
  char* out = begin;
  while (in.end - in.at >= 8) {
    in.refill_fast();
    for (int i = 0; i < windows_per_refill; ++i) {
      const window& w = windows[in.bits >> (64 - window_bits)];
      if (w.first_bits == 0) [[unlikely]] {
        if (in.count < longest_code_bits) break;
        const long_code c = find_long_code(static_cast<std::uint32_t>(in.bits >> 32));
        if (c.symbol == end_of_string_symbol) return {0, error::end_of_string};
        *out++ = static_cast<char>(c.symbol);
        in.drop(c.bits);
        break;
      }
      out = put(out, w);
      in.drop(w.total_bits);
    }
  }
  return decode_tail(in, begin, out);
}

namespace {

// RFC 7541 Appendix B: code lengths by symbol; the last one is EOS. The codes follow from the lengths.
constexpr std::array<std::uint8_t, symbol_count> lengths = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,  // 0x00
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,  // 0x10
    6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,  // 0x20
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10,  // 0x30
    13, 6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  // 0x40
    7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,  // 0x50
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  // 0x60
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
    // The bits that were shifted in are zeros, not data: only a code that ends before them is valid.
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
