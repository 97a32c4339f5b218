// Remembers what literal fields decode to, keyed by their bytes on the wire.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/field.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::hpack {

// Some clients never index :path, so that it comes as the same literal with every call. A hit spares its
// Huffman decoding and, by the mark, its routing. Direct-mapped: a new entry takes the place of the one
// that its hash meets. A key is a whole representation whose name is literal or in the static table, so
// it means the same whatever happens to the dynamic table. An entry is made only when asked for: values
// that never repeat do not push out those that do. Memory (about 6 KiB) is taken with the first entry, until release().
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
    std::uint8_t raw_bytes = 0;  // 0 is a free entry
  };

  // The entry for these bytes, or null. It stays in place until it is replaced by store() or cleared.
  [[nodiscard]] entry* find(bytes_view raw) noexcept;
  // Enters a decoded field, with mark 0. `static_name` says that the name lies in the static
  // table and need not be copied. Null if the field is too long to be kept.
  entry* store(bytes_view raw, std::string_view name, std::string_view value, bool static_name);
  void release() noexcept { entries_.reset(); }

  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return entries_ ? entry_count * sizeof(entry) : 0;
  }

 private:
  std::unique_ptr<entry[]> entries_;
};

}  // namespace coracle::hpack
