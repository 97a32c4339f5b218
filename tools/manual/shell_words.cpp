#include "tools/manual/shell_words.hpp"

namespace coracle::tools {

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words(1);
  char quote = 0;
  bool begun = false;  // the last word has a character or a quote
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\'' || (quote == '"' && c != '\\')) {
      if (c == quote) quote = 0;
      else words.back() += c;
    } else if (c == '\\') {
      if (++i < line.size()) words.back() += line[i];
      begun = true;
    } else if (c == '\'' || c == '"') {
      quote = c;
      begun = true;
    } else if (c == '|' || c == ';' || c == '&') {
      words.assign(1, {});
      begun = false;
    } else if (c == ' ' || c == '\t') {
      if (begun) words.emplace_back();
      begun = false;
    } else {
      words.back() += c;
      begun = true;
    }
  }
  return words;
}

}  // namespace coracle::tools
