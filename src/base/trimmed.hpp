// trimmed: text without the white space around it.
#pragma once

#include <string_view>

namespace coracle::base {

// Without the spaces and tabs around it: the optional white space of HTTP (RFC 9110 5.6.3).
constexpr std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t";
  while (!text.empty() && blanks.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && blanks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

}  // namespace coracle::base
