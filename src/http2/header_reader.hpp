// header_reader: reads received header blocks: HPACK, the soft size limit, and the rules of RFC 9113 section
// 8.
#pragma once

#include "base/hot_and_cold.hpp"
#include "coracle/base/bytes.hpp"
#include "hpack/decoder.hpp"
#include "hpack/dynamic_table.hpp"
#include "http/header_validator.hpp"
#include "http2/event.hpp"
#include "http2/recurring_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace coracle::http2 {

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
  // still returns it. 0 if that field is not :status. That of a block with a number is known without decoding
  // it.
  [[nodiscard]] int peek_status();

  // The number of a block that is likely to arrive again, also before a field is read; 0: it is not. Blocks
  // with the same number are of one kind and have the same fields, except for the values of some fields of
  // requests. A number is not used again; there are recurring_blocks::block_count at a time, which differ
  // modulo that count.
  [[nodiscard]] std::uint32_t block_number() const noexcept { return recurring_ ? recurring_->number() : 0; }
  // Reads a block that has a number, in place of advance(): only the fields whose values may differ between
  // blocks with this number, which varying() then returns until the next start(). Returns false, and has read
  // nothing, if the block has no number or must begin with a size update, or the list may exceed the limit.
  [[nodiscard]] bool read_varying() {
    if (block_number() == 0 || !decoder_.at_start()) return false;
    if (!recurring_->pattern().found().empty()) return read_varying_literals();
    is_repeated_ = true;
    outcome_ = outcome::good;
    list_bytes_ = recurring_->read().list_bytes;
    return true;
  }
  [[nodiscard]] std::span<const hpack::block_pattern::varying> varying_literals() const noexcept {
    return block_number() != 0 ? recurring_->pattern().found()
                               : std::span<const hpack::block_pattern::varying>();
  }
  [[nodiscard]] std::span<const hpack::field> varying() const noexcept {
    return is_repeated_ ? recurring_->varying() : std::span<const hpack::field>();
  }

  // Once after read_varying(): the block_number() of a block that follows. It becomes that of this reader.
  [[nodiscard]] std::uint32_t find_next(bytes_view block, http::header_kind kind) noexcept {
    if (!std::exchange(is_repeated_, false)) return 0;
    recurring_->start(block, kind, decoder_.table());
    return block_number();
  }

  void set_slot(std::uint32_t slot) noexcept {
    decoder_.set_mark(slot << class_bits | (decoder_.mark() & class_mask));
    decoder_.keep();
  }
  [[nodiscard]] outcome result() const noexcept { return outcome_; }
  // Why the block is malformed, too large or undecodable; static storage.
  [[nodiscard]] std::string_view reason() const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    return is_repeated_ ? recurring_->read().content_length : validator_.content_length();
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
    return decoder_.capacity_bytes() + (recurring_ ? sizeof *recurring_ + recurring_->capacity_bytes() : 0);
  }
  void release(std::size_t keep_bytes) noexcept { decoder_.release(keep_bytes); }
  // Frees everything except the table. Call it between blocks.
  void release_idle_memory() noexcept {
    decoder_.release();
    decoder_.release_literals();
    if (recurring_) blocks_learned_ = recurring_->learned();
    recurring_.reset();
    is_repeated_ = false;
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

  [[nodiscard]] bool read_varying_literals();
  void end();
  CORACLE_COLD void stop(outcome verdict);

  hpack::decoder decoder_;
  // Leading and trailing whitespace of values is tolerated: grpc-go does not encode it in status messages.
  http::header_validator validator_{http::header_kind::request, http::edge_whitespace::allow};
  std::uint64_t list_bytes_ = 0;
  std::uint64_t excess_bytes_ = 0;  // valid if outcome_ is too_large
  std::uint32_t list_bytes_max_;
  bool is_repeated_ = false;  // read_varying() was true
  std::uint32_t blocks_learned_ = 0;  // before recurring_ was created
  std::unique_ptr<recurring_blocks> recurring_;  // created for the first block
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
