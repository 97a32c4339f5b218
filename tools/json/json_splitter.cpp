#include "tools/json/json_splitter.hpp"

#include <utility>

namespace coracle::tools {

namespace {
constexpr std::string_view space = " \t\r\n";
}

void json_splitter::skip_space() {
  if (at_ == 0) held_.erase(0, held_.find_first_not_of(space));
}

std::optional<std::string> json_splitter::next() {
  skip_space();
  while (at_ < held_.size()) {
    const char c = held_[at_++];
    bool whole = false;
    if (in_string_) {
      if (escaped_) escaped_ = false;
      else if (c == '\\') escaped_ = true;
      else if (c == '"') in_string_ = false, whole = depth_ == 0;
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (depth_ > 0) --depth_;
      whole = depth_ == 0;
    } else if (depth_ == 0 && space.find(c) != std::string_view::npos) {
      whole = true;  // a number, or a word
    }
    if (!whole) continue;
    std::string value = held_.substr(0, at_);
    held_.erase(0, std::exchange(at_, 0));
    return value;
  }
  return std::nullopt;
}

std::optional<std::string> json_splitter::rest() {
  skip_space();
  if (held_.empty()) return std::nullopt;
  at_ = 0;
  return std::exchange(held_, {});
}

}  // namespace coracle::tools
