// wrapped_text: breaks text into lines, for tables on a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools {

// Appends the text, which begins in `column`, and a line end; each further line begins in that column, too.
// A word that is longer than a line is not broken.
inline void add_wrapped(std::string& to, std::string_view text, std::size_t column) {
  constexpr std::size_t width = 78;
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (at > column && at + 1 + word.size() > width) {
      to.append("\n").append(column, ' ');
      at = column;
    } else if (at > column) {
      to += ' ';
      ++at;
    }
    to.append(word);
    at += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  to += '\n';
}

}  // namespace coracle::tools
