#include "codegen/comments.hpp"

#include <algorithm>

namespace coracle::codegen {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

std::string one_line(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  std::string line(text);
  // Drops other control characters, which a compiler should not have to read.
  line.erase(std::remove_if(line.begin(), line.end(), [](unsigned char c) { return c < ' ' && c != '\t'; }),
             line.end());
  // A line continuation would make the next line of code part of the comment.
  if (line.ends_with('\\') || line.ends_with("?\?/")) line += " .";
  return line;
}

}  // namespace

std::vector<std::string> comment_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto length = std::min(text.find('\n'), text.size());
    lines.push_back(one_line(text.substr(0, length)));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  while (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  return lines;
}

}  // namespace coracle::codegen
