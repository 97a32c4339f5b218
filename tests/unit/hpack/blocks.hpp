// Header blocks for tests: from hex, piece by piece, and decoded to owned fields.
#pragma once

#include "hpack/decoder.hpp"
#include "hpack/integer.hpp"

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::hpack::testing {

using block = std::vector<std::uint8_t>;

struct owned_field {
  std::string name;
  std::string value;
  bool never_index = false;
  friend bool operator==(const owned_field&, const owned_field&) = default;
};

// The result of decoding a block: the fields before its end or error.
struct outcome {
  std::vector<owned_field> fields;
  decode_error error = decode_error::none;
  friend bool operator==(const outcome&, const outcome&) = default;
};

inline void PrintTo(const outcome& o, std::ostream* os) {
  for (const owned_field& f : o.fields)
    *os << f.name << ": " << f.value << (f.never_index ? " (never)" : "") << "\n";
  *os << to_string(o.error);
}

// The same numbers on every machine.
class random_numbers {
 public:
  explicit random_numbers(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

inline block from_hex(std::string_view hex) {
  block bytes;
  unsigned digits = 0;
  unsigned byte = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    byte = byte << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) bytes.push_back(static_cast<std::uint8_t>(byte & 0xff));
  }
  return bytes;
}

inline void add_integer(block& to, unsigned prefix_bits, unsigned pattern, std::uint32_t value) {
  std::uint8_t buffer[integer_bytes_max];
  to.insert(to.end(), buffer, write_integer(buffer, prefix_bits, pattern, value));
}
inline void add_raw_string(block& to, std::string_view text) {
  add_integer(to, 7, 0, static_cast<std::uint32_t>(text.size()));
  to.insert(to.end(), text.begin(), text.end());
}

// A whole field in each of its forms; index 0 contains the literal name.
inline block indexed(std::uint32_t index) {
  block b;
  add_integer(b, 7, 0x80, index);
  return b;
}
inline block literal(unsigned pattern, unsigned prefix_bits, std::uint32_t index, std::string_view name,
                     std::string_view value) {
  block b;
  add_integer(b, prefix_bits, pattern, index);
  if (index == 0) add_raw_string(b, name);
  add_raw_string(b, value);
  return b;
}
inline block entering(std::string_view name, std::string_view value) {
  return literal(0x40, 6, 0, name, value);
}
inline block entering(std::uint32_t index, std::string_view value) {
  return literal(0x40, 6, index, {}, value);
}
inline block plain(std::string_view name, std::string_view value) { return literal(0x00, 4, 0, name, value); }
inline block plain(std::uint32_t index, std::string_view value) { return literal(0x00, 4, index, {}, value); }
inline block never(std::string_view name, std::string_view value) { return literal(0x10, 4, 0, name, value); }
inline block size_update(std::uint32_t bytes) {
  block b;
  add_integer(b, 5, 0x20, bytes);
  return b;
}
inline block operator+(block a, const block& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Decodes a copy of the block that ends where the block ends, so that a sanitizer detects every read beyond
// it.
inline outcome decode(decoder& d, bytes_view input) {
  const block exact(input.begin(), input.end());
  outcome o;
  d.start(exact);
  while (d.next() == decoder::step::field)
    o.fields.push_back(
        {std::string(d.current().name), std::string(d.current().value), d.current().never_index});
  o.error = d.error();
  return o;
}

}  // namespace coracle::hpack::testing
