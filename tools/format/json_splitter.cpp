#include "tools/format/json_splitter.hpp"

#include <algorithm>

namespace coracle::tools {

namespace {
constexpr std::string_view space = " \t\r\n";
}

void json_splitter::add(std::string_view text) {
  // Drops the consumed part once it is more than half: moving the rest then costs less than reading the bytes
  // since the last move did.
  if (begin_ > held_.size() / 2) {
    held_.erase(0, begin_);
    at_ -= begin_;
    begin_ = 0;
  }
  held_ += text;
}

void json_splitter::skip_space() {
  if (at_ == begin_) at_ = begin_ = std::min(held_.find_first_not_of(space, begin_), held_.size());
}

std::string_view json_splitter::take() {
  const std::string_view value = std::string_view(held_).substr(begin_, at_ - begin_);
  begin_ = at_;
  return value;
}

std::optional<std::string_view> json_splitter::next() {
  skip_space();
  while (at_ < held_.size()) {
    const char c = held_[at_++];
    bool whole = false;
    if (quote_ != 0) {
      if (escaped_) escaped_ = false;
      else if (c == '\\') escaped_ = true;
      else if (c == quote_) quote_ = 0, whole = depth_ == 0;
    } else if (c == '"' || c == '\'') {  // protobuf's parser accepts both quotes
      quote_ = c;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (depth_ > 0) --depth_;
      whole = depth_ == 0;
    } else if (depth_ == 0 && space.find(c) != std::string_view::npos) {
      whole = true;  // a number or a keyword
    }
    if (whole) return take();
  }
  return std::nullopt;
}

std::optional<std::string_view> json_splitter::rest() {
  skip_space();
  if (begin_ == held_.size()) return std::nullopt;
  at_ = held_.size();
  return take();
}

}  // namespace coracle::tools
