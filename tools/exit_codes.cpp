#include "tools/exit_codes.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace coracle::tools {

namespace {

constexpr std::size_t code_width = 10, text_width = 78;

// Breaks the text into lines, each but the first after an indentation.
void add_wrapped(std::string& to, std::string_view text) {
  std::size_t column = code_width;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (column > code_width && column + 1 + word.size() > text_width) {
      to.append("\n").append(code_width, ' ');
      column = code_width;
    } else if (column > code_width) {
      to += ' ';
      ++column;
    }
    to.append(word);
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  to += '\n';
}

void add(std::string& to, const exit_code& one) {
  const std::string_view code = one.code;
  to.append("  ").append(code).append(code_width - 2 - code.size(), ' ');
  add_wrapped(to, one.meaning);
}

}  // namespace

std::string exit_code_table() {
  std::string all = "Exit codes of all commands but health:\n";
  for (const exit_code& one : exit_codes) add(all, one);
  all += "\nExit codes of health:\n";
  for (const exit_code& one : health_exit_codes) add(all, one);
  return all;
}

}  // namespace coracle::tools
