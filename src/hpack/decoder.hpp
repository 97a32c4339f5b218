// Reads header blocks (RFC 7541 3.2), one field at a time.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/dynamic_table.hpp"
#include "hpack/field.hpp"
#include "hpack/literal_cache.hpp"
#include "hpack/static_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::hpack {

// All of them are connection errors of type COMPRESSION_ERROR (RFC 9113 4.3): after one, the table is out
// of step with the peer's and no later block can be read.
enum class decode_error : std::uint8_t {
  none = 0,
  truncated,              // the block ends within a field
  integer_too_large,      // RFC 7541 5.1: above 2^32 - 1, or padded with zeros beyond need
  index_zero,             // RFC 7541 6.1
  index_out_of_range,     // RFC 7541 2.3.3
  string_too_long,        // above decoder_limits::string_bytes_max
  huffman_end_of_string,  // RFC 7541 5.2: EOS within a string
  huffman_padding,        // RFC 7541 5.2: more than 7 bits, or not all ones
  update_after_field,     // RFC 7541 4.2: a table size update must come first
  update_above_limit,     // RFC 7541 6.3
  update_missing,         // RFC 7541 4.2: the limit was lowered, and the peer did not follow
  update_too_many,        // RFC 7541 4.2: at most two may precede the fields of a block
};

// A short sentence for logs and GOAWAY debug data; static storage.
[[nodiscard]] std::string_view to_string(decode_error error) noexcept;

struct decoder_limits {
  // Longest name or value, decoded. A connection error, so it should lie well above the limit on
  // header lists, which fails the stream only.
  std::uint32_t string_bytes_max = 256 * 1024;
};

// Where set_slot() puts a slot once its field is gone by: see decoder::remember().
struct entry_ref {
  std::uint64_t number = 0;
  std::uint32_t serial = 0;
  enum class place : std::uint8_t { none, dynamic_table, literal_cache } where = place::none;
};

// A pull parser for the blocks that one peer sends, in the order that they arrive:
//
//   decoder.start(block);
//   for (auto s = decoder.next(); s == decoder::step::field; s = decoder.next()) use(decoder.current());
//   if (decoder.error() != decode_error::none) ...
//
// A block must be read to its end, also when its message is refused: its fields change the table. The
// caller limits the bytes of a block; memory grows with the largest block (scratch for Huffman strings,
// 1.6 bytes a byte) and the table size limit, and nothing is allocated once both were seen.
//
// The user can attach to what recurs: a slot (32 bits, say the method that a :path stands for) and a tag
// (8 bits, say that the field was found valid). 0 means nothing attached. They live with the field's
// table entry and vanish when it is evicted. Where a field can have them:
//
//   field                                                slot and tag
//   from the static table                                tag only
//   from, or just entered into, the dynamic table        both
//   literal that is in the literal cache                 both
//   other literal of <= 128 bytes on the wire, without   set_slot() and remember() enter it into the
//     dynamic name, not never-indexed                      cache; set_tag() alone does not
//   other literal                                        none: setting does nothing
class decoder {
 public:
  enum class step : std::uint8_t { field, end, error };

  explicit decoder(decoder_limits limits = {}) noexcept : limits_(limits) {}
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;

  // Our SETTINGS_HEADER_TABLE_SIZE has been acknowledged by the peer. Before that the limit is 4096. If it
  // falls below the size in use, the next block must begin with a size update (RFC 7541 4.2). At most
  // table_bytes_max.
  void set_table_limit(std::uint32_t bytes) noexcept;

  // A complete block: HEADERS or PUSH_PROMISE with all its CONTINUATIONs, without padding and priority.
  // The bytes must stay alive and unchanged until next() has said `end` and the last field is used up.
  void start(bytes_view block) noexcept;

  // The next field is in current(), or the block is at its end, or it is wrong. `error` repeats.
  step next();

  // Nothing of the block has been read, and it need not begin with a size update.
  [[nodiscard]] bool at_start() const noexcept { return !fields_begun_ && !update_due_; }

  // Valid until the next call of next(), start() or set_table_limit().
  [[nodiscard]] const field& current() const noexcept { return current_; }
  [[nodiscard]] decode_error error() const noexcept { return error_; }

  // About the current field.
  [[nodiscard]] std::uint32_t slot() const noexcept;
  [[nodiscard]] std::uint8_t tag() const noexcept;
  [[nodiscard]] bool validated() const noexcept { return tag() != 0; }
  void set_slot(std::uint32_t slot);
  void set_tag(std::uint8_t tag) noexcept;
  void set_validated() noexcept { set_tag(1); }

  // To attach a slot later than during the field's turn: the entry that the current field lives in, made
  // in the literal cache if need be. The reference may be kept for ever; once the entry is gone, and for a
  // field that cannot have a slot, setting does nothing.
  [[nodiscard]] entry_ref remember();
  void set_slot(const entry_ref& ref, std::uint32_t slot) noexcept;

  // Forgets all slots, for a user whose numbering has changed. Tags stay.
  void clear_slots() noexcept;

  [[nodiscard]] const dynamic_table& table() const noexcept { return table_; }
  // Memory held on the heap, for quotas.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept;
  // Between blocks: frees the scratch memory if it is more than `keep_bytes`, after a large block or when
  // the connection goes idle.
  void release(std::size_t keep_bytes = 0) noexcept;
  // Between blocks: empties the literal cache, whose entries will be made anew, and frees its memory.
  void release_literals() noexcept;

 private:
  // Where the current field lives.
  enum class origin : std::uint8_t { other, static_entry, dynamic_entry, cache_entry, cacheable };
  struct raw_string {
    const std::uint8_t* data;
    std::uint32_t bytes;
    bool huffman;
  };

  bool take_indexed(std::uint32_t index) noexcept;
  step next_slow();
  step next_indexed();
  step next_literal(unsigned prefix_bits);
  bool take_size_update() noexcept;
  step fail(decode_error error) noexcept;
  bool read_number(unsigned prefix_bits, std::uint32_t& value) noexcept;
  bool read_raw_string(raw_string& string) noexcept;
  bool expand(const raw_string& string, std::string_view& text);
  bool name_at(std::uint32_t index, std::string_view& name) noexcept;
  literal_cache::entry* cache_current();

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  field current_;
  std::uint64_t number_ = 0;                // of the current entry: dynamic number or static index
  literal_cache::entry* cached_ = nullptr;  // when origin_ is cache_entry
  origin origin_ = origin::other;
  decode_error error_ = decode_error::none;
  bool fields_begun_ = false;
  bool update_due_ = false;
  bool static_name_ = false;      // when origin_ is cacheable
  std::uint8_t pending_tag_ = 0;  // when origin_ is cacheable
  bytes_view raw_;                // when origin_ is cacheable: the field on the wire
  dynamic_table table_;
  std::unique_ptr<char[]> scratch_;
  std::size_t scratch_capacity_ = 0;
  std::size_t scratch_used_ = 0;  // by the current field
  std::size_t block_bytes_ = 0;
  std::uint32_t table_limit_ = default_table_bytes;
  std::uint32_t lowest_limit_ = default_table_bytes;  // since the last block
  decoder_limits limits_;
  std::array<std::uint8_t, static_entry_count + 1> static_tags_{};
  literal_cache cache_;
};

// The usual field is one byte that points into a table: nothing else is inlined.
inline decoder::step decoder::next() {
  if (at_ != end_ && !update_due_) [[likely]] {
    const unsigned first = *at_;
    if (first > 0x80 && first < 0xff) [[likely]] {
      const std::uint32_t index = first & 0x7f;
      if (take_indexed(index)) [[likely]] {
        ++at_;
        fields_begun_ = true;
        return step::field;
      }
    }
  }
  return next_slow();
}

inline bool decoder::take_indexed(std::uint32_t index) noexcept {
  if (index <= static_entry_count) {
    current_ = static_table[index];
    number_ = index;
    origin_ = origin::static_entry;
    return true;
  }
  const std::uint32_t age = index - static_entry_count - 1;
  if (age >= table_.count()) return false;
  number_ = table_.number_of(age);
  const dynamic_table::entry& e = table_.at(number_);
  current_ = {table_.name(e), table_.value(e), false};
  origin_ = origin::dynamic_entry;
  return true;
}

inline std::uint8_t decoder::tag() const noexcept {
  switch (origin_) {
    case origin::static_entry: return static_tags_[number_];
    case origin::dynamic_entry: return table_.at(number_).tag;
    case origin::cache_entry: return cached_->tag;
    case origin::cacheable: return pending_tag_;
    case origin::other: break;
  }
  return 0;
}

inline std::uint32_t decoder::slot() const noexcept {
  switch (origin_) {
    case origin::dynamic_entry: return table_.at(number_).slot;
    case origin::cache_entry: return cached_->slot;
    default: return 0;
  }
}

}  // namespace coracle::hpack
