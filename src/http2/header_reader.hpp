// Reads the header blocks that the peer sends: HPACK, the soft limit, and the rules of RFC 9113 8.
#pragma once

#include "coracle/base/bytes.hpp"
#include "hpack/decoder.hpp"
#include "http/header_validator.hpp"
#include "http2/event.hpp"
#include "http2/repeated_block.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace coracle::http2 {

// One block at a time, pulled field by field. Whatever becomes of the message, the block is decoded to its
// end, or the table would run out of step with the peer's.
class header_reader {
 public:
  enum class outcome : std::uint8_t {
    reading,
    good,
    malformed,    // RFC 9113 8.1.1: the stream's fault
    too_large,    // beyond the soft limit: the stream's fault
    undecodable,  // RFC 9113 4.3: the connection's fault
  };

  // Of the slots that set_slot() takes.
  static constexpr std::uint32_t slot_max = (1u << 23) - 1;
  // Those of the fields in HPACK's static table (RFC 7541 Appendix A), by index; set_slot() changes nothing about them.
  static constexpr std::uint32_t static_slot(std::uint32_t index) noexcept { return (slot_max + 1) | index; }

  explicit header_reader(std::uint32_t list_bytes_max) noexcept
      : decoder_({}, &marks_of_static_table()), list_bytes_max_(list_bytes_max) {}

  // The block must stay in place until the outcome is another than `reading`.
  void start(bytes_view block, http::header_kind kind);
  // Decodes a block that nobody wants. False if it is undecodable.
  [[nodiscard]] bool skip(bytes_view block);

  // Goes to the next field. False at the end, or when the rest is not worth having: see result().
  [[gnu::hot, gnu::flatten]] bool advance();
  // That field; its views are valid until the next advance().
  [[nodiscard]] field current() const noexcept {
    const hpack::field f = decoder_.current();
    return {f.name, f.value, decoder_.mark() >> class_bits, f.never_index};
  }
  // The next fields, in one pass, as long as they have slots: f(slot, text), where text() gives the field; what it returns
  // is not looked at. Before any other field, advance() goes on. What f throws leaves them unread.
  template <class F>
  void read_marked(F& f);
  // Decodes the rest.
  void finish();
  // Looks at the first field, which advance() will still go to: the status of a response must be known early.
  // 0 if that field is no :status.
  [[nodiscard]] int peek_status();

  // Of the block that was read last, if it is a request's: see repeated_block::number().
  [[nodiscard]] std::uint32_t number() const noexcept {
    return last_ && validator_.kind() == http::header_kind::request ? last_->number() : 0;
  }
  // Before a field is read: true when the block is the one of that number, which then counts as read.
  [[nodiscard]] bool repeats(std::uint32_t number) noexcept;

  void set_slot(std::uint32_t slot) noexcept {
    decoder_.set_mark(slot << class_bits | (decoder_.mark() & class_mask));
    decoder_.keep();
  }
  [[nodiscard]] outcome result() const noexcept { return outcome_; }
  // Why it is malformed or undecodable; static storage.
  [[nodiscard]] std::string_view reason() const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const noexcept {
    return repeated_ ? last_->read().content_length : validator_.content_length();
  }
  // As SETTINGS_MAX_HEADER_LIST_SIZE counts, so far.
  [[nodiscard]] std::uint32_t list_bytes() const noexcept { return static_cast<std::uint32_t>(list_bytes_); }
  [[nodiscard]] int status() const noexcept { return validator_.status(); }

  // Our SETTINGS_HEADER_TABLE_SIZE was acknowledged.
  void set_table_limit(std::uint32_t bytes) noexcept { decoder_.set_table_limit(bytes); }
  [[nodiscard]] const hpack::decoder& decoder() const noexcept { return decoder_; }
  [[nodiscard]] std::size_t capacity_bytes() const noexcept {
    return decoder_.capacity_bytes() + (last_ ? sizeof *last_ + last_->capacity_bytes() : 0);
  }
  void release(std::size_t keep_bytes) noexcept { decoder_.release(keep_bytes); }
  // Between blocks: frees all but the table.
  void release_idle_memory() noexcept {
    decoder_.release();
    decoder_.release_literals();
    last_.reset();
    repeated_ = false;
  }

 private:
  static constexpr std::size_t short_field_bytes = 48;  // content-type: application/grpc+proto is 34
  // A mark is the field's class, and above it the user's slot.
  static constexpr unsigned class_bits = 8;
  static constexpr std::uint32_t class_mask = (1u << class_bits) - 1;
  static http::field_class class_of(std::uint32_t mark) noexcept {
    return static_cast<http::field_class>(mark & class_mask);
  }
  static const hpack::static_marks& marks_of_static_table() noexcept;

  void end();
  [[gnu::cold, gnu::noinline]] void give_up(outcome why);

  hpack::decoder decoder_;
  // White space at the edges of a value is borne: grpc-go puts status messages into trailers as they are.
  http::header_validator validator_{http::header_kind::request, http::edge_whitespace::allow};
  std::uint64_t list_bytes_ = 0;
  std::uint32_t list_bytes_max_;
  bool repeated_ = false;  // the block counts as read
  std::unique_ptr<repeated_block> last_;  // of requests, from the first one on
  outcome outcome_ = outcome::good;
  bool peeked_ = false;
};

// The path of most fields. One that is referred to a second time was checked the first time, which its mark in the table
// tells: what remains is its place in this message.
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
