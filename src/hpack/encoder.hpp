// encoder: writes header blocks (RFC 7541 3.1).
#pragma once

#include "hpack/dynamic_table.hpp"
#include "hpack/field.hpp"
#include "hpack/integer.hpp"
#include "hpack/static_table.hpp"
#include "hpack/string_literal.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::hpack {

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

  // Begins a block. Required for every block, including those of pre-encoded bytes
  // (hpack/stateless_encoder.hpp).
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

}  // namespace coracle::hpack
