// header_reader: reads received header blocks: HPACK, the soft size limit, and the rules of RFC 9113 section
// 8.
#pragma once

#include "base/hot_and_cold.hpp"
#include "coracle/base/bytes.hpp"
#include "hpack/decoder.hpp"
#include "hpack/dynamic_table.hpp"
#include "http/header_validator.hpp"
#include "http2/event.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace coracle::http2 {

// The last request's header block, to detect that the next one is the same. The same octets mean the same
// fields while the table does not change. Consecutive calls of one method by a client mostly have the same
// octets.
class header_block_cache {
 public:
  static constexpr std::size_t bytes_max = 1024;  // longer blocks are not remembered

  // The result of reading the block.
  struct reading {
    std::uint32_t list_bytes = 0;
    std::optional<std::uint64_t> content_length;
  };

  // Call with a block that is about to be read; it must stay valid until then.
  void start(bytes_view block, const hpack::dynamic_table& table) noexcept {
    current_ = block;
    inserted_before_ = table.inserted();
  }
  // 0 until the same block has arrived twice in a row; then the same number while it repeats.
  [[nodiscard]] std::uint32_t block_id() const noexcept { return seen_twice_ ? block_id_ : 0; }
  // Call before the block is read. Returns whether it is the one that was remembered.
  [[nodiscard]] bool matches(const hpack::dynamic_table& table) const noexcept {
    return !bytes_.empty() && current_.size() == bytes_.size() && table.inserted() == inserted_ &&
           table.count() == count_ && table.max_bytes() == max_bytes_ &&
           std::memcmp(current_.data(), bytes_.data(), current_.size()) == 0;
  }
  [[nodiscard]] const reading& read() const noexcept { return read_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept { return bytes_.capacity(); }

  // Call when the block has been read and is valid.
  void remember(const hpack::dynamic_table& table, const reading& read) {
    seen_twice_ = matches(table);
    if (seen_twice_) return;
    bytes_.clear();
    if (current_.size() > bytes_max || table.inserted() != inserted_before_) return;
    ++block_id_;
    bytes_.assign(current_.begin(), current_.end());
    inserted_ = table.inserted();
    count_ = table.count();
    max_bytes_ = table.max_bytes();
    read_ = read;
  }

 private:
  bytes_view current_{};
  std::uint64_t inserted_before_ = 0;
  std::vector<std::uint8_t> bytes_;  // of the remembered block; empty: none
  std::uint64_t inserted_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t max_bytes_ = 0;
  std::uint32_t block_id_ = 0;
  reading read_;
  bool seen_twice_ = false;
};

// Reads one block at a time, field by field. A block is always decoded to its end, whatever happens to the
// message; otherwise the table would no longer match the peer's.
class header_reader {
 public:
  enum class outcome : std::uint8_t {
    reading,
    good,
    malformed,    // RFC 9113 8.1.1: stream error
    too_large,    // above the soft limit: stream error, unless the user reads what exceeds it
    undecodable,  // RFC 9113 4.3: connection error
  };

  // The largest slot that set_slot() takes.
  static constexpr std::uint32_t slot_max = (1u << 23) - 1;
  // The slots of the fields in HPACK's static table (RFC 7541 Appendix A), by index; set_slot() does not
  // change them.
  static constexpr std::uint32_t static_slot(std::uint32_t index) noexcept { return (slot_max + 1) | index; }

  // block_bytes_max: the limit on encoded blocks, which the caller enforces. A string is not limited
  // otherwise: one that is too long must not end the connection.
  header_reader(std::uint32_t list_bytes_max, std::uint32_t block_bytes_max) noexcept
      : decoder_({hpack::decoded_string_bytes_max(block_bytes_max)}, &marks_of_static_table()),
        list_bytes_max_(list_bytes_max) {}

  // Starts a block, which must stay in place while the outcome is `reading`.
  void start(bytes_view block, http::header_kind kind);
  // Decodes a block and drops its fields. Returns false if it is undecodable.
  [[nodiscard]] bool skip(bytes_view block);

  // Advances to the next field. Returns false at the end, or if the remaining fields are discarded; see
  // result(). If that is too_large, the field at which the list exceeds the limit has been decoded, but not
  // those after it: call advance_excess() or finish().
  CORACLE_HOT bool advance();
  // Advances to the next field of those that exceed the limit, which are not validated. Returns false at the
  // end, or if the block is undecodable.
  [[gnu::cold]] bool advance_excess();
  // Returns that field; its views are valid until the next advance().
  [[nodiscard]] field current() const noexcept {
    const hpack::field f = decoder_.current();
    return {f.name, f.value, decoder_.mark() >> class_bits, f.never_index};
  }
  // Reads the following fields in one pass while they have slots: calls f(slot, text), where text() returns
  // the field, and ignores the result of f. advance() continues at the next field without a slot. If f
  // throws, the fields stay unread.
  template <class F>
  void read_marked(F& f);
  // Decodes the remaining fields.
  void finish();
  // Returns the status of a response, which must be known early, without consuming the first field: advance()
  // still returns it. 0 if that field is not :status.
  [[nodiscard]] int peek_status();

  // The number of the block that was read last, if it is that of a request; see
  // header_block_cache::block_id().
  [[nodiscard]] std::uint32_t block_id() const noexcept {
    return last_ && validator_.kind() == http::header_kind::request ? last_->block_id() : 0;
  }
  // Call before a field is read. Returns true if the block is the one with this number; it then counts as
  // read.
  [[nodiscard]] bool matches(std::uint32_t block_id) noexcept;

  void set_slot(std::uint32_t slot) noexcept {
    decoder_.set_mark(slot << class_bits | (decoder_.mark() & class_mask));
    decoder_.keep();
  }
  [[nodiscard]] outcome result() const noexcept { return outcome_; }
  // Why the block is malformed, too large or undecodable; static storage.
  [[nodiscard]] std::string_view reason() const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    return header_cache_ ? last_->read().content_length : validator_.content_length();
  }
  // The size of the fields so far, as SETTINGS_MAX_HEADER_LIST_SIZE defines it, without those that exceed the
  // limit, and of these.
  [[nodiscard]] std::uint32_t list_bytes() const noexcept { return static_cast<std::uint32_t>(list_bytes_); }
  [[nodiscard]] std::uint64_t excess_bytes() const noexcept { return excess_bytes_; }
  [[nodiscard]] int status() const noexcept { return validator_.status(); }

  // Call when the peer has acknowledged our SETTINGS_HEADER_TABLE_SIZE.
  void set_table_limit(std::uint32_t bytes) noexcept { decoder_.set_table_limit(bytes); }
  [[nodiscard]] const hpack::decoder& decoder() const noexcept { return decoder_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return decoder_.capacity_bytes() + (last_ ? sizeof *last_ + last_->capacity_bytes() : 0);
  }
  void release(std::size_t keep_bytes) noexcept { decoder_.release(keep_bytes); }
  // Frees everything except the table. Call it between blocks.
  void release_idle_memory() noexcept {
    decoder_.release();
    decoder_.release_literals();
    last_.reset();
    header_cache_ = false;
  }

 private:
  static constexpr std::size_t short_field_bytes = 48;  // content-type: application/grpc+proto is 34
  // The low bits of a mark are the field's class, the upper bits the user's slot.
  static constexpr unsigned class_bits = 8;
  static constexpr std::uint32_t class_mask = (1u << class_bits) - 1;
  static http::field_class class_of(std::uint32_t mark) noexcept {
    return static_cast<http::field_class>(mark & class_mask);
  }
  static const hpack::static_marks& marks_of_static_table() noexcept;

  void end();
  CORACLE_COLD void stop(outcome verdict);

  hpack::decoder decoder_;
  // Leading and trailing whitespace of values is tolerated: grpc-go does not encode it in status messages.
  http::header_validator validator_{http::header_kind::request, http::edge_whitespace::allow};
  std::uint64_t list_bytes_ = 0;
  std::uint64_t excess_bytes_ = 0;  // valid if outcome_ is too_large
  std::uint32_t list_bytes_max_;
  bool header_cache_ = false;  // matches() was true: the block counts as read
  std::unique_ptr<header_block_cache> last_;  // of requests; created for the first one
  outcome outcome_ = outcome::good;
  bool peeked_ = false;
};

// The path of most fields. A field that refers to a table entry again was validated the first time, as its
// mark says; only its position in this message remains to be checked.
template <class F>
void header_reader::read_marked(F& f) {
  if (outcome_ != outcome::reading || peeked_) return;
  http::header_validator place = validator_;
  std::uint64_t list_bytes = list_bytes_;
  decoder_.read_marked([&](std::uint32_t mark, std::uint32_t bytes, auto text) {
    const std::uint64_t with_it = list_bytes + bytes + hpack::entry_overhead_bytes;
    const std::uint32_t slot = mark >> class_bits;
    if (slot == 0 || with_it > list_bytes_max_ || !place.accept(class_of(mark))) [[unlikely]]
      return false;
    list_bytes = with_it;
    static_cast<void>(f(slot, [&] {
      const hpack::field whole = text();
      return field{whole.name, whole.value, slot, false};
    }));
    return true;
  });
  validator_ = place;
  list_bytes_ = list_bytes;
}

}  // namespace coracle::http2
