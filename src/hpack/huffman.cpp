#include "hpack/huffman.hpp"

#include "hpack/huffman_table.hpp"

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

void store_big_endian(std::uint8_t* to, std::uint32_t word) {
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap32(word);
  std::memcpy(to, &word, sizeof word);
}

struct long_code {
  std::uint16_t symbol;
  unsigned bits;
};

// For codes that are longer than a window: `top` is the next 32 bits.
long_code find_long_code(std::uint32_t top) {
  unsigned length = window_bits + 1;
  while (top >= ranges[length].end) ++length;  // ends: the last range reaches 2^32
  const length_range& range = ranges[length];
  return {symbols_by_code[range.first_symbol + (top >> (32 - length)) - range.first_code], length};
}

// The unread bits, left-aligned in 64, zeros behind them.
struct bit_reader {
  const std::uint8_t* at;
  const std::uint8_t* end;
  std::uint64_t bits = 0;
  unsigned count = 0;

  void drop(unsigned n) {
    bits <<= n;
    count -= n;
  }
  // At least 56 bits, from at least eight bytes of input.
  void refill_fast() {
    bits |= load_big_endian(at) >> count;
    at += (63 - count) >> 3;
    count |= 56;
  }
  // At least 56 bits, or all that there are.
  void refill() {
    for (; count <= 56 && at != end; count += 8) bits |= static_cast<std::uint64_t>(*at++) << (56 - count);
  }
};

char* put(char* out, const window& w) {
  out[0] = static_cast<char>(w.first);
  out[1] = static_cast<char>(w.second);
  return out + 1 + (w.total_bits != w.first_bits);
}

// The last bytes of a string, symbol by symbol: here a code may be cut off.
decoded decode_tail(bit_reader in, char* begin, char* out) {
  for (;;) {
    if (in.count < longest_code_bits) in.refill();
    if (in.count == 0) break;
    // Padding is all ones (RFC 7541 5.2); more of them behind the end make a cut-off code look at nothing
    // that is not there.
    const std::uint64_t bits = in.count < 64 ? in.bits | ~std::uint64_t{0} >> in.count : in.bits;
    if (bits == ~std::uint64_t{0} && in.count < longest_code_bits)
      break;  // padding: no code is all ones but EOS
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
  // What is left is no code, so it must be the first bits of EOS, which are ones, and less than a byte.
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
  std::uint64_t bits = 0;  // the low `count` bits are not written yet
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
  // Bits enough for this many windows are there after each fast refill.
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

}  // namespace coracle::hpack::huffman
