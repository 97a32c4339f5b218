#include "protocol/rest/json_stream.hpp"

#include "protocol/web/ascii.hpp"

#include <algorithm>

namespace coracle::protocol::rest {

namespace {

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

bool is_json_lines(std::string_view media_type) noexcept {
  return web::equal_ignoring_case(media_type, "application/x-ndjson") ||
         web::equal_ignoring_case(media_type, "application/jsonl");
}

std::string_view json_stream::trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool json_stream::next(std::size_t& begin, std::string_view& value) noexcept {
  const auto take = [&] {
    value = trimmed(std::string_view(text_).substr(begin, scanned_bytes_ - begin));
    begin = ++scanned_bytes_;
    return !value.empty();
  };
  for (; scanned_bytes_ < text_.size(); ++scanned_bytes_) {
    const char c = text_[scanned_bytes_];
    if (in_text_) {
      if (escaped_) escaped_ = false;
      else if (c == '\\') escaped_ = true;
      else if (c == '"') in_text_ = false;
      continue;
    }
    if (array_ended_) {
      if (!is_blank(c)) malformed_ = true;
      if (malformed_) return false;
      continue;
    }
    if (c == '"') {
      in_text_ = true;
    } else if (c == '[' && depth_ == 0 && !in_array_ &&
               trimmed(std::string_view(text_).substr(begin, scanned_bytes_ - begin)).empty()) {
      in_array_ = true;
      begin = scanned_bytes_ + 1;
    } else if (c == '[' || c == '{') {
      ++depth_;
    } else if (c == ']' && depth_ == 0) {
      malformed_ = !in_array_;
      if (malformed_) return false;
      array_ended_ = true;
      if (take()) return true;
      --scanned_bytes_;
    } else if (c == ']' || c == '}') {
      malformed_ = depth_ == 0;
      if (malformed_) return false;
      --depth_;
    } else if (depth_ == 0 && (in_array_ ? c == ',' : c == '\n')) {
      if (take()) return true;
      malformed_ = in_array_;
      if (malformed_) return false;
      --scanned_bytes_;
    }
  }
  begin = std::min(begin, text_.size());
  return false;
}

}  // namespace coracle::protocol::rest
