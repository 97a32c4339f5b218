// A second HPACK decoder: slow and simple, to compare the fast one with.
#pragma once

#include "hpack/huffman.hpp"
#include "hpack/static_table.hpp"
#include "unit/hpack/blocks.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace coracle::hpack::testing {

// Bit by bit. No text means an error.
struct reference_text {
  std::string text;
  decode_error error = decode_error::none;
};

inline reference_text reference_huffman_decode(bytes_view input) {
  static const auto symbols = [] {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint16_t> map;
    for (std::uint16_t s = 0; s < huffman::symbol_count; ++s)
      map[{huffman::codes[s].length, huffman::codes[s].bits}] = s;
    return map;
  }();
  std::string text;
  std::uint32_t bits = 0;
  std::uint32_t count = 0;
  for (const std::uint8_t byte : input) {
    for (int i = 7; i >= 0; --i) {
      bits = bits << 1 | ((byte >> i) & 1u);
      ++count;
      const auto found = symbols.find({count, bits});
      if (found == symbols.end()) continue;
      if (found->second == huffman::end_of_string_symbol) return {{}, decode_error::huffman_end_of_string};
      text += static_cast<char>(found->second);
      bits = count = 0;
    }
  }
  if (count > 7 || bits != (1u << count) - 1) return {{}, decode_error::huffman_padding};
  return {text, decode_error::none};
}

class reference_decoder {
 public:
  explicit reference_decoder(std::uint32_t string_bytes_max = decoder_limits{}.string_bytes_max)
      : string_bytes_max_(string_bytes_max) {}

  void set_table_limit(std::uint32_t bytes) {
    limit_ = bytes;
    lowest_ = std::min(lowest_, bytes);
  }

  outcome decode(bytes_view bytes) {
    outcome result;
    if (broken_ != decode_error::none) return {{}, broken_};
    rest_ = bytes;
    bool due = lowest_ < max_;
    bool begun = false;
    int updates = 0;
    if (!due) lowest_ = limit_;
    try {
      while (!rest_.empty()) {
        const unsigned first = rest_[0];
        if ((first & 0xe0) == 0x20) {
          if (!begun && ++updates == 3) throw decode_error::update_too_many;
          if (begun) throw decode_error::update_after_field;
          const std::uint64_t size = integer(5);
          if (size > (due ? lowest_ : limit_)) throw decode_error::update_above_limit;
          due = false;
          lowest_ = limit_;
          max_ = static_cast<std::uint32_t>(size);
          shrink(max_);
          continue;
        }
        if (due) throw decode_error::update_missing;
        begun = true;
        result.fields.push_back(next_field(first));
      }
      if (due) throw decode_error::update_missing;
    } catch (decode_error error) {
      result.error = broken_ = error;
    }
    return result;
  }

  std::uint64_t size_bytes() const {
    std::uint64_t size = 0;
    for (const owned_field& f : table_) size += f.name.size() + f.value.size() + 32;
    return size;
  }

 private:
  owned_field next_field(unsigned first) {
    if (first & 0x80) {
      const std::uint64_t index = integer(7);
      if (index == 0) throw decode_error::index_zero;
      return at(index);
    }
    const bool enter = (first & 0x40) != 0;
    owned_field f;
    f.never_index = !enter && (first & 0x10) != 0;
    const std::uint64_t index = integer(enter ? 6 : 4);
    wire_string name;
    if (index != 0) f.name = at(index).name;
    else name = string();
    const wire_string value = string();
    if (index == 0) f.name = expand(name);
    f.value = expand(value);
    if (enter) {
      const std::uint64_t cost = f.name.size() + f.value.size() + 32;
      shrink(cost > max_ ? 0 : max_ - cost);
      if (cost <= max_) table_.push_front(f);
    }
    return f;
  }

  owned_field at(std::uint64_t index) const {
    if (index <= static_entry_count)
      return {std::string(static_table[index].name), std::string(static_table[index].value), false};
    if (index - static_entry_count > table_.size()) throw decode_error::index_out_of_range;
    return table_[index - static_entry_count - 1];
  }

  void shrink(std::uint64_t bytes) {
    while (size_bytes() > bytes) table_.pop_back();
  }

  std::uint8_t byte() {
    if (rest_.empty()) throw decode_error::truncated;
    const std::uint8_t b = rest_[0];
    rest_ = rest_.subspan(1);
    return b;
  }

  std::uint64_t integer(unsigned prefix_bits) {
    const unsigned most = (1u << prefix_bits) - 1;
    std::uint64_t value = byte() & most;
    if (value < most) return value;
    for (unsigned i = 0; i < 5; ++i) {
      const std::uint8_t b = byte();
      value += std::uint64_t{b & 0x7fu} << (7 * i);
      if (b & 0x80) continue;
      if (value > 0xffffffffu) throw decode_error::integer_too_large;
      return value;
    }
    throw decode_error::integer_too_large;
  }

  struct wire_string {
    bytes_view bytes;
    bool huffman = false;
  };
  wire_string string() {
    if (rest_.empty()) throw decode_error::truncated;
    wire_string s;
    s.huffman = (rest_[0] & 0x80) != 0;
    const std::uint64_t length = integer(7);
    if (!s.huffman && length > string_bytes_max_) throw decode_error::string_too_long;
    if (length > rest_.size()) throw decode_error::truncated;
    s.bytes = rest_.first(length);
    rest_ = rest_.subspan(length);
    return s;
  }
  std::string expand(const wire_string& s) const {
    if (!s.huffman) return std::string(as_text(s.bytes));
    reference_text r = reference_huffman_decode(s.bytes);
    if (r.error != decode_error::none) throw r.error;
    if (r.text.size() > string_bytes_max_) throw decode_error::string_too_long;
    return r.text;
  }

  bytes_view rest_;
  std::deque<owned_field> table_;
  std::uint32_t max_ = default_table_bytes;
  std::uint32_t limit_ = default_table_bytes;
  std::uint32_t lowest_ = default_table_bytes;
  std::uint32_t string_bytes_max_;
  decode_error broken_ = decode_error::none;
};

}  // namespace coracle::hpack::testing
