// decoder: reads header blocks (RFC 7541 3.2), one field at a time.
#pragma once

#include "base/hot_and_cold.hpp"
#include "coracle/base/bytes.hpp"
#include "hpack/block_pattern.hpp"
#include "hpack/dynamic_table.hpp"
#include "hpack/field.hpp"
#include "hpack/literal_cache.hpp"
#include "hpack/static_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

namespace coracle::hpack {

// All of them are connection errors of type COMPRESSION_ERROR (RFC 9113 4.3): after an error the dynamic
// table no longer matches the peer's, and no later block can be decoded.
enum class decode_error : std::uint8_t {
  none = 0,
  truncated,              // the block ends within a field
  integer_too_large,      // RFC 7541 5.1: above 2^32 - 1, or padded with more zeros than allowed
  index_zero,             // RFC 7541 6.1
  index_out_of_range,     // RFC 7541 2.3.3
  string_too_long,        // above decoder_limits::string_bytes_max
  huffman_end_of_string,  // RFC 7541 5.2: EOS within a string
  huffman_padding,        // RFC 7541 5.2: more than 7 bits, or not all ones
  update_after_field,     // RFC 7541 4.2: a table size update must come first
  update_above_limit,     // RFC 7541 6.3
  update_missing,         // RFC 7541 4.2: the limit was lowered, and the block has no size update
  update_too_many,        // RFC 7541 4.2: at most two may precede the fields of a block
};

// Returns a short sentence for logs and GOAWAY debug data, in static storage.
[[nodiscard]] std::string_view to_string(decode_error error) noexcept;

// Returns a bound of the length of a decoded string in a block of this many bytes: the shortest codes of the
// Huffman code have 5 bits (RFC 7541 Appendix B).
[[nodiscard]] constexpr std::uint32_t decoded_string_bytes_max(std::uint32_t block_bytes) noexcept {
  const std::uint64_t bytes = std::uint64_t{block_bytes} * 8 / 5 + 1;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

struct decoder_limits {
  // The maximum length of a decoded name or value. Exceeding it is a connection error, so it should be well
  // above the limit on header lists, which only fails the stream.
  std::uint32_t string_bytes_max = 256 * 1024;
};

// Marks by HPACK index; [0] is 0.
using static_marks = std::array<std::uint32_t, static_entry_count + 1>;

// A pull parser for the header blocks that one peer sends, in the order in which they arrive:
//
//   decoder.start(block);
//   for (auto s = decoder.next(); s == decoder::step::field; s = decoder.next()) use(decoder.current());
//   if (decoder.error() != decode_error::none) ...
//
// A block must be read to its end even if its message is rejected, because its fields change the dynamic
// table. The caller limits the size of a block. Memory grows with the largest block (scratch space for
// Huffman strings, 1.6 bytes per byte) and with the table size limit; once both have been reached, nothing
// more is allocated.
//
// The user can attach a mark to fields that recur: a number that says, for instance, that the field was
// validated, and which method a :path refers to. 0 means that nothing is attached. A mark belongs to the
// field's table entry and is lost when the entry is evicted. Which fields can have one:
//
//   field                                                mark
//   in the static table                                  as in the constructor; set_mark() has no effect
//   in the dynamic table, or just inserted into it       yes
//   literal that is in the literal cache                 yes
//   other literal of <= 128 bytes on the wire, without   keep() adds it to the cache with its mark;
//     dynamic name, not never-indexed                      otherwise the mark is lost with the field
//   other literal                                        none
class decoder {
 public:
  enum class step : std::uint8_t { field, end, error };

  // marks: those of the static table's fields; must outlive the decoder. Null: they have none.
  explicit decoder(decoder_limits limits = {}, const static_marks* marks = nullptr) noexcept
      : limits_(limits), static_marks_(marks) {}
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;

  // Sets the table size limit when the peer has acknowledged the local SETTINGS_HEADER_TABLE_SIZE. The
  // initial limit is 4096 bytes. If it falls below the table size in use, the next block must begin with a
  // size update (RFC 7541 4.2). `bytes` is at most table_bytes_max.
  void set_table_limit(std::uint32_t bytes) noexcept;

  // Starts a complete block: the fragments of HEADERS or PUSH_PROMISE and of all its CONTINUATIONs, without
  // padding and priority. The bytes must stay alive and unchanged until next() has returned `end` and the
  // last field has been used.
  void start(bytes_view block) noexcept;

  // Advances: `field` (see current()), `end` of the block, or `error`. After an error every call returns
  // `error`.
  step next();

  // Reads the following fields while they are one-octet indexes of entries with marks: calls f(mark, bytes,
  // text), where `bytes` is the size of name and value, and text() returns the field. Stops before a field
  // for which f returns false and before any other field; next() continues there. If f throws, none of the
  // fields has been read. Meanwhile there is no current field to mark.
  template <class F>
  void read_marked(F f);

  // Reads a block that `pattern` has just matched, of which nothing has been read: `out` gets the fields that
  // vary, whose views are valid until the block or the pattern ends or the next call of start(). Returns
  // false after an error. There is no current field then.
  bool read_varying(const block_pattern& pattern, std::array<field, block_pattern::varying_max>& out);

  // Whether nothing of the block has been read, and it need not begin with a size update.
  [[nodiscard]] bool at_start() const noexcept { return !fields_begun_ && !update_due_; }

  // Returns the current field. Its views are valid until the next call of next(), read_marked(), start() or
  // set_table_limit().
  [[nodiscard]] field current() const noexcept;
  [[nodiscard]] decode_error error() const noexcept { return error_; }

  // The mark of the current field; see the table above.
  [[nodiscard]] std::uint32_t mark() const noexcept;
  void set_mark(std::uint32_t mark) noexcept;
  void keep();

  [[nodiscard]] const dynamic_table& table() const noexcept { return table_; }
  // Heap memory held, for quotas.
  [[nodiscard]] std::size_t capacity_bytes() const noexcept;
  // Frees the scratch space if it is larger than `keep_bytes`. Call it between blocks: after a large block,
  // or when the connection becomes idle.
  void release(std::size_t keep_bytes = 0) noexcept;
  // Clears the literal cache and frees its memory. Call it between blocks; entries are created again on
  // demand.
  void release_literals() noexcept;

 private:
  // Where the current field is stored.
  enum class origin : std::uint8_t { other, static_entry, dynamic_entry, cache_entry, cacheable };
  struct raw_string {
    const std::uint8_t* data;
    std::uint32_t bytes;
    bool huffman;
  };

  bool take_indexed(std::uint32_t index) noexcept;
  [[gnu::flatten]] step next_slow();
  step next_indexed();
  step next_literal(unsigned prefix_bits);
  CORACLE_COLD bool take_size_update() noexcept;
  CORACLE_COLD step fail(decode_error error) noexcept;
  bool read_number(unsigned prefix_bits, std::uint32_t& value) noexcept;
  bool read_raw_string(raw_string& string) noexcept;
  bool expand(const raw_string& string, std::string_view& text);
  void reserve_scratch(std::size_t more);
  bool name_at(std::uint32_t index, std::string_view& name) noexcept;

  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;
  field literal_;  // the current field, unless it is in a table
  std::uint64_t number_ = 0;  // of the current entry: its dynamic number or static index
  literal_cache::entry* cached_ = nullptr;  // when origin_ is cache_entry
  origin origin_ = origin::other;
  decode_error error_ = decode_error::none;
  bool fields_begun_ = false;
  bool update_due_ = false;
  bool static_name_ = false;  // when origin_ is cacheable
  std::uint32_t pending_mark_ = 0;  // when origin_ is cacheable
  bytes_view raw_;  // when origin_ is cacheable: the field on the wire
  dynamic_table table_;
  std::unique_ptr<char[]> scratch_;
  std::size_t scratch_capacity_ = 0;
  std::size_t scratch_used_ = 0;  // by the current field
  std::size_t block_bytes_ = 0;
  std::uint32_t table_limit_ = default_table_bytes;
  std::uint32_t lowest_limit_ = default_table_bytes;  // since the last block
  decoder_limits limits_;
  const static_marks* static_marks_;
  literal_cache cache_;
};

// Most fields are one byte that refers to a table entry; only this path is inlined.
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
    number_ = index;
    origin_ = origin::static_entry;
    return true;
  }
  const std::uint32_t age = index - static_entry_count - 1;
  if (age >= table_.count()) return false;
  number_ = table_.number_of(age);
  origin_ = origin::dynamic_entry;
  return true;
}

template <class F>
void decoder::read_marked(F f) {
  if (update_due_ || !static_marks_) return;
  origin_ = origin::other;  // there is no current field before next()
  const std::uint8_t* at = at_;
  for (; at != end_; ++at) {
    const std::uint32_t index = *at - 0x80u;  // for a literal it wraps around, far above the tables
    if (index > static_entry_count) {
      const std::uint32_t age = index - static_entry_count - 1;
      if (age >= table_.count() || index == 0x7f) break;
      const dynamic_table::entry& e = table_.at(table_.number_of(age));
      if (e.mark == 0) break;
      if (!f(e.mark, e.name_bytes + e.value_bytes,
             [&] { return field{table_.name(e), table_.value(e), false}; }))
        break;
    } else {
      const std::uint32_t mark = (*static_marks_)[index];  // index 0 is invalid and has mark 0
      if (mark == 0) break;
      const field& fixed = static_table[index];
      if (!f(mark, static_cast<std::uint32_t>(fixed.name.size() + fixed.value.size()), [&] { return fixed; }))
        break;
    }
  }
  if (at == at_) return;
  at_ = at;
  fields_begun_ = true;
}

inline field decoder::current() const noexcept {
  if (origin_ == origin::dynamic_entry) {
    const dynamic_table::entry& e = table_.at(number_);
    return {table_.name(e), table_.value(e), false};
  }
  return origin_ == origin::static_entry ? static_table[number_] : literal_;
}

inline std::uint32_t decoder::mark() const noexcept {
  switch (origin_) {
    case origin::static_entry: return static_marks_ ? (*static_marks_)[number_] : 0;
    case origin::dynamic_entry: return table_.at(number_).mark;
    case origin::cache_entry: return cached_->mark;
    case origin::cacheable: return pending_mark_;
    case origin::other: break;
  }
  return 0;
}

}  // namespace coracle::hpack
