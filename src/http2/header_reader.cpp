#include "http2/header_reader.hpp"

namespace coracle::http2 {

void header_reader::start(bytes_view block, http::header_kind kind) {
  decoder_.start(block);
  validator_.reset(kind);
  list_bytes_ = 0;
  outcome_ = outcome::reading;
  peeked_ = false;
  repeated_ = false;
  if (kind != http::header_kind::request) return;
  if (!last_) last_ = std::make_unique<repeated_block>();
  last_->start(block, decoder_.table());
}

bool header_reader::repeats(std::uint32_t number) noexcept {
  if (number == 0 || number != this->number() || !decoder_.at_start() || !last_->repeats(decoder_.table()))
    return false;
  repeated_ = true;
  outcome_ = outcome::good;
  list_bytes_ = last_->read().list_bytes;
  return true;
}

void header_reader::end() {
  const bool good = validator_.finish() == http::field_error::none;
  outcome_ = good ? outcome::good : outcome::malformed;
  if (good && validator_.kind() == http::header_kind::request)
    last_->remember(decoder_.table(), {list_bytes(), validator_.content_length()});
}

bool header_reader::skip(bytes_view block) {
  decoder_.start(block);
  peeked_ = false;
  outcome_ = outcome::good;
  give_up(outcome::good);
  return outcome_ != outcome::undecodable;
}

void header_reader::finish() {
  peeked_ = false;
  while (advance()) continue;
}

int header_reader::peek_status() {
  peeked_ = advance();
  return validator_.status();
}

// The rest is decoded without being looked at.
void header_reader::give_up(outcome why) {
  outcome_ = why;
  auto step = decoder_.next();
  while (step == hpack::decoder::step::field) step = decoder_.next();
  if (step == hpack::decoder::step::error) outcome_ = outcome::undecodable;
}

std::string_view header_reader::reason() const noexcept {
  switch (outcome_) {
    case outcome::malformed: return to_string(validator_.error());
    case outcome::too_large: return "the header list is too large";
    case outcome::undecodable: return to_string(decoder_.error());
    case outcome::reading:
    case outcome::good: break;
  }
  return {};
}

}  // namespace coracle::http2
