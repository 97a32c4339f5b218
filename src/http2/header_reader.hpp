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

  explicit header_reader(std::uint32_t list_bytes_max) noexcept : list_bytes_max_(list_bytes_max) {}

  // The block must stay in place until the outcome is another than `reading`.
  void start(bytes_view block, http::header_kind kind);
  // Decodes a block that nobody wants. False if it is undecodable.
  [[nodiscard]] bool skip(bytes_view block);

  // False at the end, or when the rest is not worth having: see result().
  bool next(field& out);
  // Decodes the rest.
  void finish();
  // Looks at the first field, which next() will still give: the status of a response must be known early.
  // 0 if that field is no :status.
  [[nodiscard]] int peek_status();

  // Of the block that was read last, if it is a request's: see repeated_block::number().
  [[nodiscard]] std::uint32_t number() const noexcept {
    return last_ && validator_.kind() == http::header_kind::request ? last_->number() : 0;
  }
  // Before a field is read: true when the block is the one of that number, which then counts as read.
  [[nodiscard]] bool repeats(std::uint32_t number) noexcept;

  void set_slot(std::uint32_t slot) noexcept { decoder_.set_slot(slot); }
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

  bool advance();
  void end();
  void give_up(outcome why);

  hpack::decoder decoder_;
  // White space at the edges of a value is borne: grpc-go puts status messages into trailers as they are.
  http::header_validator validator_{http::header_kind::request, http::edge_whitespace::allow};
  std::uint64_t list_bytes_ = 0;
  std::uint32_t list_bytes_max_;
  bool repeated_ = false;                 // the block counts as read
  std::unique_ptr<repeated_block> last_;  // of requests, from the first one on
  outcome outcome_ = outcome::good;
  bool peeked_ = false;
};

// The path of every field. A field that is referred to a second time was checked the first time, which its
// tag in the table tells: what remains is its place in this message.
inline bool header_reader::advance() {
  if (outcome_ != outcome::reading) return false;
  const auto step = decoder_.next();
  if (step != hpack::decoder::step::field) [[unlikely]] {
    if (step == hpack::decoder::step::error) outcome_ = outcome::undecodable;
    else end();
    return false;
  }
  const hpack::field& f = decoder_.current();
  list_bytes_ += f.name.size() + f.value.size() + hpack::entry_overhead_bytes;
  if (list_bytes_ > list_bytes_max_) [[unlikely]] {
    give_up(outcome::too_large);
    return false;
  }
  http::field_error error;
  if (const std::uint8_t tag = decoder_.tag()) {
    error = validator_.check_known(static_cast<http::field_class>(tag), f.value);
  } else {
    http::field_class found;
    error = validator_.check(f.name, f.value, &found);
    decoder_.set_tag(static_cast<std::uint8_t>(found));
    // Servers send pre-encoded responses and trailers: the same short literals with every call, worth a place
    // in the literal cache. A client's recur in the dynamic table or get a slot from the router.
    if (validator_.kind() != http::header_kind::request &&
        f.name.size() + f.value.size() <= short_field_bytes)
      static_cast<void>(decoder_.remember());
  }
  if (error != http::field_error::none) [[unlikely]] {
    give_up(outcome::malformed);
    return false;
  }
  return true;
}

inline bool header_reader::next(field& out) {
  if (peeked_) peeked_ = false;
  else if (!advance()) return false;
  const hpack::field& f = decoder_.current();
  out.name = f.name;
  out.value = f.value;
  out.slot = decoder_.slot();
  out.never_index = f.never_index;
  return true;
}

}  // namespace coracle::http2
