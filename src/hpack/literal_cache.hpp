// literal_cache: caches the decoded form of literal fields, keyed by their bytes on the wire.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/field.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::hpack {

// Some clients never index :path, so that every call sends the same literal. A hit avoids its Huffman
// decoding and, through the mark, its routing. The cache is direct-mapped: a new entry replaces the one in
// its slot. A key is a whole representation whose name is a literal or in the static table, so that its
// meaning does not depend on the dynamic table. Entries are only created on request, so that values that
// never repeat do not replace those that do. The memory (about 6 KiB) is allocated with the first entry and
// held until release().
class literal_cache {
 public:
  static constexpr std::size_t entry_count = 16;
  static constexpr std::size_t raw_bytes_max = 128;
  // The shortest Huffman code has five bits, so 128 bytes hold at most 204 characters.
  static constexpr std::size_t text_bytes_max = raw_bytes_max * 8 / 5;

  struct entry {
    std::array<std::uint8_t, raw_bytes_max> raw;
    std::array<char, text_bytes_max> text;
    std::string_view name;  // in the static table or in `text`
    std::string_view value;  // in `text`
    std::uint32_t hash = 0;
    std::uint32_t mark = 0;
    std::uint8_t raw_bytes = 0;  // 0: the entry is free
  };

  // Returns the entry for these bytes, or null. It stays valid until store() replaces it or release() is
  // called.
  [[nodiscard]] entry* find(bytes_view raw) noexcept;
  // Adds a decoded field with mark 0. static_name: the name is in the static table and is not copied. Returns
  // null if the field is too long or memory is exhausted.
  entry* store(bytes_view raw, std::string_view name, std::string_view value, bool static_name);
  void release() noexcept { entries_.reset(); }

  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return entries_ ? entry_count * sizeof(entry) : 0;
  }

 private:
  std::unique_ptr<entry[]> entries_;
};

}  // namespace coracle::hpack
