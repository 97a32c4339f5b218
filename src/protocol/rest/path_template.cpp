#include "protocol/rest/path_template.hpp"

#include "base/percent.hpp"
#include "base/printable.hpp"
#include "protocol/web/uri.hpp"

#include <utility>

namespace coracle::protocol::rest {

namespace {

// Thrown to leave the parser; caught in path_template::parse().
struct broken_template {
  std::size_t position;
  std::string reason;
};

bool begins_name(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) noexcept { return begins_name(c) || (c >= '0' && c <= '9'); }

// Of the pchar of RFC 3986 3.3, those without a meaning in templates; and bytes of UTF-8, which a request
// always escapes.
bool is_literal(char c) noexcept {
  return continues_name(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("-.~%!$&'()+,;=:@").find(c) != std::string_view::npos;
}

}  // namespace

class path_template::parser {
 public:
  parser(std::string_view text, path_template& to) noexcept : text_(text), to_(to) {}

  void read() {
    if (text_.size() > bytes_max)
      fail(bytes_max, "a template has at most " + std::to_string(bytes_max) + " bytes");
    if (text_.empty() || text_.front() != '/') fail(0, "a template must begin with '/'");
    find_verb();
    at_ = 1;
    if (at_ < end_) read_segments(false);
    if (at_ < end_) fail(at_, "expected '/'");
  }

 private:
  [[noreturn]] static void fail(std::size_t position, std::string reason) {
    throw broken_template{position, std::move(reason)};
  }

  // The verb follows the last ':' after the last '/', unless that is within a variable.
  void find_verb() {
    end_ = text_.size();
    const std::size_t colon = text_.rfind(':');
    if (colon == std::string_view::npos || colon < text_.rfind('/')) return;
    const std::size_t brace = text_.rfind('}');
    if (brace != std::string_view::npos && colon < brace) return;
    end_ = colon;
    at_ = colon + 1;
    const std::size_t verb = at_;
    to_.verb_ = read_literal(text_.size());
    if (at_ < text_.size()) fail(at_, "a verb is a literal");
    if (to_.verb_.empty()) fail(verb, "the verb after ':' is empty");
  }

  void read_segments(bool in_variable) {
    while (true) {
      read_segment(in_variable);
      if (at_ == end_ || text_[at_] != '/') return;
      if (!to_.segments_.empty() && to_.segments_.back().kind == segment_kind::rest)
        fail(at_, "'**' must be the last segment");
      ++at_;
    }
  }

  void read_segment(bool in_variable) {
    const std::size_t start = at_;
    if (to_.segments_.size() == segments_max)
      fail(start, "a template has at most " + std::to_string(segments_max) + " segments");
    if (at_ < end_ && text_[at_] == '{') {
      if (in_variable) fail(start, "a variable within a variable");
      return read_variable();
    }
    if (at_ < end_ && text_[at_] == '*') {
      ++at_;
      const bool rest = at_ < end_ && text_[at_] == '*';
      if (rest) ++at_;
      if (at_ < end_ && text_[at_] != '/' && !(in_variable && text_[at_] == '}'))
        fail(at_, "'*' must be a whole segment");
      return add(rest ? segment_kind::rest : segment_kind::one);
    }
    std::string literal = read_literal(end_);
    if (literal.empty()) fail(start, at_ == end_ || text_[at_] == '/' ? "an empty segment" : unexpected());
    if (at_ < end_ && text_[at_] != '/' && !(in_variable && text_[at_] == '}')) fail(at_, unexpected());
    add(segment_kind::literal, std::move(literal));
  }

  void read_variable() {
    const std::size_t start = at_++;
    if (to_.variables_.size() == variables_max)
      fail(start, "a template has at most " + std::to_string(variables_max) + " variables");
    variable v;
    const std::size_t name = at_;
    while (true) {
      if (at_ == end_ || !begins_name(text_[at_])) fail(at_, "expected the name of a field");
      while (at_ < end_ && continues_name(text_[at_])) ++at_;
      if (at_ == end_ || text_[at_] != '.') break;
      ++at_;
    }
    v.field_path = text_.substr(name, at_ - name);
    for (const variable& other : to_.variables_)
      if (other.field_path == v.field_path) fail(name, "the variable " + v.field_path + " is named twice");
    v.first = static_cast<std::uint32_t>(to_.segments_.size());
    if (at_ < end_ && text_[at_] == '=') {
      ++at_;
      read_segments(true);
    } else {
      add(segment_kind::one);
    }
    if (at_ == end_ || text_[at_] != '}') fail(at_, at_ == end_ ? "'}' is missing" : unexpected());
    ++at_;
    v.end = static_cast<std::uint32_t>(to_.segments_.size());
    v.several = v.end - v.first != 1 || to_.segments_.back().kind == segment_kind::rest;
    to_.variables_.push_back(std::move(v));
    if (at_ < end_ && text_[at_] != '/') fail(at_, "expected '/' after a variable");
  }

  std::string read_literal(std::size_t end) {
    const std::size_t start = at_;
    for (; at_ < end && is_literal(text_[at_]); ++at_)
      if (text_[at_] == '%' && !web::has_valid_escapes(text_.substr(at_, 3)))
        fail(at_, "'%' must be followed by two hexadecimal digits");
    return base::percent_decode(text_.substr(start, at_ - start));
  }

  void add(segment_kind kind, std::string literal = {}) {
    // A `**` before it, in a variable that has ended, would not be the last.
    if (!to_.segments_.empty() && to_.segments_.back().kind == segment_kind::rest)
      fail(at_, "'**' must be the last segment");
    to_.segments_.push_back({kind, std::move(literal)});
  }

  [[nodiscard]] std::string unexpected() const {
    return "unexpected '" + base::printable(text_.substr(at_, 1)) + "'";
  }

  std::string_view text_;
  path_template& to_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;  // of the segments
};

result<path_template> path_template::parse(std::string_view text) {
  path_template parsed;
  try {
    parser(text, parsed).read();
  } catch (const broken_template& broken) {
    return status::invalid_argument("the path template '" + base::printable(text) +
                                    "' is malformed at position " + std::to_string(broken.position) + ": " +
                                    broken.reason);
  }
  parsed.text_ = text;
  return parsed;
}

}  // namespace coracle::protocol::rest
