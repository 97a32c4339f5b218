// Writes header blocks (RFC 7541 3.1).
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

// The octets mean the same as long as the encoder's table has not changed: an insertion moves the indexes of all
// entries, an eviction takes entries away.
struct encoded_fields {
  std::vector<std::uint8_t> octets;
  std::uint64_t inserted = 0;
  std::uint32_t count = 0;

  [[nodiscard]] bool valid_with(const dynamic_table& table) const noexcept {
    return !octets.empty() && inserted == table.inserted() && count == table.count();
  }
};

// Two hash tables, by name and by name with value. Each bucket holds the number of its newest entry and each
// entry the number of the next older one in its bucket. Since the oldest entries leave first, a chain simply
// ends at the first number that is no longer alive: eviction costs nothing here.
// Numbers are kept in 32 bits; one that has come round again leads to an entry that fails the comparison.
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
  // Newest matches first. The name is looked for only if the field is not found.
  [[nodiscard]] match find(const dynamic_table& table, std::string_view name, std::string_view value,
                           hashes h) const noexcept;
  // Tells of the entry that the table has just received.
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

  std::unique_ptr<link[]> links_;  // by number modulo capacity
  std::unique_ptr<std::uint32_t[]> by_name_;  // newest entry of a bucket, number + 1; 0 is none
  std::unique_ptr<std::uint32_t[]> by_field_;
  std::uint32_t capacity_ = 0;  // a power of two
};

// The blocks that one peer receives. Functions write through a raw pointer and return where they stopped;
// the caller has made room, and sends the blocks in the order in which they were begun:
//
//   std::uint8_t* out = buffer.reserve(encoder::begin_bound + encoder::bound(name.size(), value.size()) + ...);
//   out = encoder.begin_block(out);
//   out = encoder.encode(out, name, value, indexing::index);
//
// A block that was encoded is part of the connection's state: it must be sent, or the connection closed.
// Nothing is allocated once the table has been full.
class encoder {
 public:
  // Most bytes that begin_block() writes: two size updates of at most six bytes.
  static constexpr std::size_t begin_bound = 12;
  // Most bytes that encode() writes: an index, two lengths and the strings as they are.
  static constexpr std::size_t bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
    return literal_bound(name_bytes, value_bytes);
  }

  // `own_limit_bytes` caps the table whatever the peer allows; if it is less than 4096 the first block
  // says so.
  explicit encoder(std::uint32_t own_limit_bytes = default_table_bytes) noexcept;
  encoder(const encoder&) = delete;
  encoder& operator=(const encoder&) = delete;

  // The peer's SETTINGS_HEADER_TABLE_SIZE, when its SETTINGS frame is applied. Takes effect, and is told to
  // the peer, with the next block (RFC 7541 4.2).
  void set_peer_limit(std::uint32_t bytes) noexcept;

  // Must come first in every block, also in one of pre-encoded bytes (hpack/stateless_encoder.hpp).
  [[nodiscard]] std::uint8_t* begin_block(std::uint8_t* out) noexcept {
    return update_pending_ ? write_updates(out) : out;
  }

  // begin_block() has something to write.
  [[nodiscard]] bool update_pending() const noexcept { return update_pending_; }

  // Appends one field. A field of more than half the table is not entered even if `indexing::index` asks.
  [[nodiscard]] std::uint8_t* encode(std::uint8_t* out, std::string_view name, std::string_view value,
                                     indexing policy);
  [[nodiscard]] const dynamic_table& table() const noexcept { return table_; }
  // Memory held on the heap, for quotas.
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
