#include "http1/chunk_decoder.hpp"

#include "http1/text.hpp"

#include <algorithm>

namespace coracle::http1 {

namespace {

// RFC 9110 5.6.4: the octets within quotes, but for the quote and the backslash.
bool is_quoted_character(char c) noexcept { return is_value_character(c); }

std::uint64_t hex_value(char c) noexcept {
  return static_cast<std::uint64_t>(is_digit(c) ? c - '0' : lower(c) - 'a' + 10);
}

}  // namespace

chunk_decoder::step chunk_decoder::next(bytes_view& in, bytes_view& piece, const limits& l) noexcept {
  while (!in.empty()) {
    if (at_ == part::data) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
      piece = in.first(n);
      in = in.subspan(n);
      left_ -= n;
      if (left_ == 0) at_ = part::data_return;
      return step::data;
    }
    const char c = static_cast<char>(in.front());
    in = in.subspan(1);
    if (!take(c, l)) return step::refused;
    if (last_) return step::last;
  }
  return step::starved;
}

bool chunk_decoder::take(char c, const limits& l) noexcept {
  if (at_ == part::data_return || at_ == part::data_feed) {
    if (c != (at_ == part::data_return ? '\r' : '\n'))
      return refuse(400, "a chunk whose data does not end with CRLF");
    at_ = at_ == part::data_return ? part::data_feed : part::first_digit;
    return true;
  }
  if (++line_ > l.chunk_line_bytes) return refuse(400, "the line of a chunk is too long");
  if (at_ == part::line_feed) {
    if (c != '\n') return refuse(400, "the line of a chunk has a CR without LF");
    return end_line(l);
  }
  if (at_ == part::first_digit || at_ == part::size) {
    if (is_hex_digit(c)) {
      // Sizes above 2^63 - 1 overflow the numbers of many peers.
      if (left_ >> 59 != 0) return refuse(400, "the size of a chunk overflows");
      left_ = left_ * 16 + hex_value(c);
      ++digits_;
      at_ = part::size;
      return true;
    }
    if (at_ == part::first_digit) return refuse(400, "a chunk without a size");
    if (c == '\r') at_ = part::line_feed;
    else if (c == ';') at_ = part::before_name;
    else if (is_blank(c)) at_ = part::before_semicolon;
    else return refuse(400, "the size of a chunk is not hexadecimal");
    return true;
  }
  return take_extension(c) || refuse(400, "a malformed chunk extension");
}

bool chunk_decoder::take_extension(char c) noexcept {
  // What may follow a complete extension.
  const auto end_of_extension = [&](part blank) {
    if (c == '\r') at_ = part::line_feed;
    else if (c == ';') at_ = part::before_name;
    else if (is_blank(c)) at_ = blank;
    else return false;
    return true;
  };
  switch (at_) {
    case part::before_semicolon:
      if (c == ';') at_ = part::before_name;
      return c == ';' || is_blank(c);
    case part::before_name:
      if (is_token_character(c)) at_ = part::name;
      return is_token_character(c) || is_blank(c);
    case part::name:
      if (is_token_character(c)) return true;
      if (c != '=') return end_of_extension(part::before_equals);
      at_ = part::before_value;
      return true;
    case part::before_equals:
      if (c == '=') at_ = part::before_value;
      else if (c == ';') at_ = part::before_name;
      else return is_blank(c);
      return true;
    case part::before_value:
      if (is_token_character(c)) at_ = part::token;
      else if (c == '"') at_ = part::quoted;
      else return is_blank(c);
      return true;
    case part::token: return is_token_character(c) || end_of_extension(part::before_semicolon);
    case part::quoted:
      if (c == '"') at_ = part::after_value;
      else if (c == '\\') at_ = part::escaped;
      return is_quoted_character(c);
    case part::escaped: at_ = part::quoted; return is_quoted_character(c);
    case part::after_value: return end_of_extension(part::before_semicolon);
    default: return false;
  }
}

bool chunk_decoder::end_line(const limits& l) noexcept {
  extensions_ += line_ - digits_ - 2;
  if (extensions_ > l.chunk_extension_bytes) return refuse(400, "too many octets of chunk extensions");
  line_ = digits_ = 0;
  if (left_ > l.body_bytes - total_) return refuse(413, "the body is too long");
  total_ += left_;
  at_ = part::data;
  last_ = left_ == 0;
  return true;
}

}  // namespace coracle::http1
