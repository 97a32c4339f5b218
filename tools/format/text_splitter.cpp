#include "tools/format/text_splitter.hpp"

namespace coracle::tools {

void text_splitter::add(std::string_view text) {
  // As in json_splitter: moves the rest only if more than half was consumed.
  if (begin_ > held_.size() / 2) {
    held_.erase(0, begin_);
    line_ -= begin_;
    begin_ = 0;
  }
  held_ += text;
}

std::optional<std::string_view> text_splitter::next() {
  for (std::size_t end; (end = held_.find('\n', line_)) != held_.npos;) {
    std::string_view line = std::string_view(held_).substr(line_, end - line_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t start = line_;
    line_ = end + 1;
    if (line != "---") continue;
    const std::string_view value = std::string_view(held_).substr(begin_, start - begin_);
    begin_ = line_;
    return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> text_splitter::rest() {
  std::string_view value = std::string_view(held_).substr(begin_);
  begin_ = line_ = held_.size();
  if (value.ends_with("\n---") || value == "---") return value.substr(0, value.size() - 3);
  if (value.find_first_not_of(" \t\r\n") == value.npos) return std::nullopt;
  return value;
}

}  // namespace coracle::tools
