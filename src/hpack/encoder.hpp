// encoder: writes header blocks (RFC 7541 3.1), with a dynamic table or without one.
#pragma once

#include "hpack/dynamic_table.hpp"
#include "hpack/field.hpp"
#include "hpack/integer.hpp"
#include "hpack/static_table.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::hpack {

// --- string literals and literal fields (RFC 7541 5.2, 6.2)

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

// --- with a dynamic table

// Encoded fields for repeated use. The octets are valid while the encoder's table does not change: an
// insertion shifts the indexes of all entries, and an eviction removes entries.
struct encoded_fields {
  std::vector<std::uint8_t> octets;
  std::uint64_t inserted = 0;
  std::uint32_t count = 0;

  [[nodiscard]] bool valid_with(const dynamic_table& table) const noexcept {
    return !octets.empty() && inserted == table.inserted() && count == table.count();
  }
};

// Finds table entries by name and by name and value, with two hash tables. Each bucket holds the number of
// its newest entry, and each entry the number of the next older one in its bucket. Because the oldest entries
// are evicted first, a chain ends at the first number that is no longer valid, and an eviction requires no
// work here. Numbers are stored as 32 bits; a number that has wrapped around refers to an entry that fails
// the comparison.
class encoder_index {
 public:
  struct hashes {
    std::uint32_t name;
    std::uint32_t field;
  };
  struct match {
    bool name = false;
    bool field = false;
    std::uint64_t name_number = 0;
    std::uint64_t field_number = 0;
  };

  [[nodiscard]] static hashes hash(std::string_view name, std::string_view value) noexcept;
  // Searches from the newest entry. Searches for the name only if the whole field is not found.
  [[nodiscard]] match find(const dynamic_table& table, std::string_view name, std::string_view value,
                           hashes h) const noexcept;
  // Adds the entry that the table has just inserted.
  void add(const dynamic_table& table, hashes h);

  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return capacity_ * (sizeof(link) + 2 * sizeof(std::uint32_t));
  }

 private:
  struct link {
    hashes hash;
    std::uint32_t older_name;
    std::uint32_t older_field;
  };
  void grow(const dynamic_table& table);

  std::unique_ptr<link[]> links_;  // indexed by number modulo capacity
  std::unique_ptr<std::uint32_t[]> by_name_;  // newest entry of a bucket, number + 1; 0 is none
  std::unique_ptr<std::uint32_t[]> by_field_;
  std::uint32_t capacity_ = 0;  // a power of two
};

// The encoder of the blocks that one peer receives. The functions write to a raw pointer and return the end
// of what they have written; the caller reserves the space and sends the blocks in the order in which they
// were begun:
//
//   std::uint8_t* out = buffer.reserve(encoder::begin_bound +
//                                       encoder::bound(name.size(), value.size()) + ...);
//   out = encoder.begin_block(out);
//   out = encoder.encode(out, name, value, indexing::index);
//
// An encoded block has changed the connection's state: it must be sent, or the connection closed. Nothing is
// allocated once the table has been full.
class encoder {
 public:
  // The maximum number of bytes that begin_block() writes: two size updates of at most six bytes each.
  static constexpr std::size_t begin_bound = 12;
  // The maximum number of bytes that encode() writes: an index, two lengths and the unencoded strings.
  static constexpr std::size_t bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
    return literal_bound(name_bytes, value_bytes);
  }

  // own_limit_bytes: limits the table regardless of what the peer allows. If it is less than 4096, the first
  // block begins with a size update.
  explicit encoder(std::uint32_t own_limit_bytes = default_table_bytes) noexcept;
  encoder(const encoder&) = delete;
  encoder& operator=(const encoder&) = delete;

  // Applies the peer's SETTINGS_HEADER_TABLE_SIZE. The change takes effect with the next block, which begins
  // with a size update (RFC 7541 4.2).
  void set_peer_limit(std::uint32_t bytes) noexcept;

  // Begins a block. Required for every block, including those of pre-encoded bytes (stateless_encoder).
  [[nodiscard]] std::uint8_t* begin_block(std::uint8_t* out) noexcept {
    return update_pending_ ? write_updates(out) : out;
  }

  // Whether begin_block() will write a size update.
  [[nodiscard]] bool update_pending() const noexcept { return update_pending_; }

  // Appends one field. A field larger than half of the table is not inserted into it, even with
  // `indexing::index`.
  [[nodiscard]] std::uint8_t* encode(std::uint8_t* out, std::string_view name, std::string_view value,
                                     indexing policy);
  [[nodiscard]] const dynamic_table& table() const noexcept { return table_; }
  // Heap memory held, for quotas.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return table_.capacity_bytes() + index_.capacity_bytes();
  }

 private:
  std::uint8_t* write_updates(std::uint8_t* out) noexcept;
  std::uint8_t* encode_indexed(std::uint8_t* out, std::uint64_t number) const noexcept {
    return write_integer(out, 7, 0x80, static_entry_count + 1 + table_.age_of(number));
  }

  dynamic_table table_;
  encoder_index index_;
  std::uint32_t own_limit_;
  std::uint32_t lowest_size_;  // since the last block
  std::uint32_t next_size_;
  bool update_pending_ = false;
};

// --- without a dynamic table

// Encodes header blocks that can be reused on any connection, with references to the static table and
// literals without indexing only, so that the bytes are valid for every peer at any time and do not change
// its dynamic table. A block must still begin with encoder::begin_block(), which writes a pending size
// update.
struct stateless_encoder {
  static constexpr std::size_t bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
    return literal_bound(name_bytes, value_bytes);
  }
  // Writes at most bound() bytes; returns the end of the field.
  [[nodiscard]] static std::uint8_t* encode(std::uint8_t* out, std::string_view name, std::string_view value,
                                            bool never_index = false) noexcept;
  [[nodiscard]] static std::vector<std::uint8_t> encode_block(std::span<const field> fields);
  [[nodiscard]] static std::vector<std::uint8_t> encode_block(std::initializer_list<field> fields) {
    return encode_block(std::span<const field>(fields.begin(), fields.size()));
  }
};

}  // namespace coracle::hpack
