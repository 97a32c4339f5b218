#include "http2/header_reader.hpp"

#include "base/if_memory_allows.hpp"
#include "hpack/huffman.hpp"

#include <utility>

namespace coracle::http2 {

// Their classes depend only on the fields.
const hpack::static_marks& header_reader::marks_of_static_table() noexcept {
  static const hpack::static_marks marks = [] {
    hpack::static_marks all{};
    for (std::uint32_t i = 1; i <= hpack::static_entry_count; ++i) {
      const hpack::field& f = hpack::static_table[i];
      const bool response = f.name == ":status";
      http::header_validator v(response ? http::header_kind::response : http::header_kind::request);
      http::field_class found = http::field_class::unknown;
      static_cast<void>(v.check(f.name, f.value, &found));
      if (found != http::field_class::unknown)
        all[i] = static_slot(i) << class_bits | static_cast<std::uint32_t>(found);
    }
    return all;
  }();
  return marks;
}

void header_reader::start(bytes_view block, http::header_kind kind) {
  decoder_.start(block);
  validator_.reset(kind);
  list_bytes_ = 0;
  outcome_ = outcome::reading;
  peeked_ = false;
  is_repeated_ = false;
  if (!recurring_) recurring_ = std::make_unique<recurring_blocks>(blocks_learned_);
  recurring_->start(block, kind, decoder_.table());
}

// The name and the place of a field that varies are those of a field that was checked.
bool header_reader::read_varying_literals() {
  const hpack::block_pattern& pattern = recurring_->pattern();
  const std::uint32_t fixed_bytes = recurring_->read().list_bytes;
  std::uint64_t bytes_max = fixed_bytes;
  for (const auto& v : pattern.found()) bytes_max += hpack::huffman::decoded_bound(v.value.size());
  if (bytes_max > list_bytes_max_) return false;
  is_repeated_ = true;
  outcome_ = outcome::good;
  list_bytes_ = fixed_bytes;
  if (!decoder_.read_varying(pattern, recurring_->room_for_varying())) {
    outcome_ = outcome::undecodable;
    return true;
  }
  for (const hpack::field& f : varying()) {
    if (validator_.check_value(f.value) != http::field_error::none) outcome_ = outcome::malformed;
    list_bytes_ += f.value.size();
  }
  return true;
}

namespace {

// The types and encodings of content select how a request is read, and rarely change.
bool may_vary(std::string_view name) {
  return http::header_validator::has_free_value(name) && name != "content-type" &&
         !name.ends_with("encoding");
}

// The fields of a response are few: one with another value is another response.
bool none_varies(std::string_view) { return false; }

}  // namespace

void header_reader::end() {
  const bool good = validator_.finish() == http::field_error::none;
  outcome_ = good ? outcome::good : outcome::malformed;
  if (!good) return;
  base::if_memory_allows([&] {
    recurring_->remember(decoder_.table(), {list_bytes(), validator_.content_length(), validator_.status()},
                         validator_.kind() == http::header_kind::request ? &may_vary : &none_varies);
  });
}

bool header_reader::skip(bytes_view block) {
  decoder_.start(block);
  peeked_ = false;
  outcome_ = outcome::good;
  stop(outcome::good);
  return outcome_ != outcome::undecodable;
}

void header_reader::finish() {
  peeked_ = false;
  while (advance()) continue;
  while (advance_excess()) continue;
}

int header_reader::peek_status() {
  if (block_number() != 0) [[likely]]
    return recurring_->read().status;
  if (advance()) peeked_ = true;
  return validator_.status();
}

bool header_reader::advance() {
  if (outcome_ != outcome::reading) return false;
  if (std::exchange(peeked_, false)) return true;
  const auto step = decoder_.next();
  if (step != hpack::decoder::step::field) {
    if (step == hpack::decoder::step::error) outcome_ = outcome::undecodable;
    else end();
    return false;
  }
  const hpack::field f = decoder_.current();
  const std::uint64_t field_bytes = f.name.size() + f.value.size() + hpack::entry_overhead_bytes;
  if (list_bytes_ + field_bytes > list_bytes_max_) [[unlikely]] {
    outcome_ = outcome::too_large;
    excess_bytes_ = field_bytes;
    peeked_ = true;  // it is the first one for advance_excess()
    return false;
  }
  list_bytes_ += field_bytes;
  http::field_error error;
  if (const http::field_class known = class_of(decoder_.mark()); known != http::field_class::unknown) {
    error = validator_.check_known(known, f.value);
  } else {
    http::field_class found;
    error = validator_.check(f.name, f.value, &found);
    decoder_.set_mark(static_cast<std::uint32_t>(found));
    // Servers send pre-encoded responses and trailers: every call has the same short literals, which are
    // worth a place in the literal cache. A client's fields recur in the dynamic table or get a slot from the
    // router.
    if (validator_.kind() != http::header_kind::request &&
        f.name.size() + f.value.size() <= short_field_bytes)
      decoder_.keep();
  }
  if (error == http::field_error::none) return true;
  stop(outcome::malformed);
  return false;
}

bool header_reader::advance_excess() {
  if (outcome_ != outcome::too_large) return false;
  if (std::exchange(peeked_, false)) return true;
  const auto step = decoder_.next();
  if (step == hpack::decoder::step::error) outcome_ = outcome::undecodable;
  if (step != hpack::decoder::step::field) return false;
  const hpack::field f = decoder_.current();
  excess_bytes_ += f.name.size() + f.value.size() + hpack::entry_overhead_bytes;
  return true;
}

// Decodes the rest of the block and drops the fields.
void header_reader::stop(outcome verdict) {
  outcome_ = verdict;
  auto step = decoder_.next();
  while (step == hpack::decoder::step::field) step = decoder_.next();
  if (step == hpack::decoder::step::error) outcome_ = outcome::undecodable;
}

std::string_view header_reader::reason() const noexcept {
  switch (outcome_) {
    case outcome::malformed: return to_string(validator_.error());
    case outcome::too_large: return "header list exceeds SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 6.5.2)";
    case outcome::undecodable: return to_string(decoder_.error());
    case outcome::reading:
    case outcome::good: break;
  }
  return {};
}

}  // namespace coracle::http2
