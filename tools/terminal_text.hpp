// terminal_text: makes text from a server safe to print on a terminal.
#pragma once

#include "tools/utf8.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools {

// Whether the character moves the cursor, hides text or changes its order: control characters (U+009B is ESC
// and '[' in one), and Unicode's format characters, including those without a width.
[[nodiscard]] constexpr bool is_shown_as_another(char32_t c) noexcept {
  struct range {
    char32_t first, last;
  };
  constexpr range all[] = {{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},      {0x34f, 0x34f},
                           {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},  {0x180b, 0x180f},
                           {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},  {0x3164, 0x3164},
                           {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},  {0xfff0, 0xfffb},
                           {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  for (const range& one : all)
    if (c >= one.first && c <= one.last) return true;
  return false;
}

// Replaces such characters, except those in `kept`, and bytes that are not valid UTF-8 by '?': a status or a
// name from elsewhere must not move the cursor or imitate another text.
[[nodiscard]] inline std::string terminal_text(std::string_view text, std::string_view kept = "\n\t") {
  std::string shown;
  while (!text.empty()) {
    const utf8_character c = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    const bool safe = c.bytes > 0 && (!is_shown_as_another(c.code) || kept.find(text.front()) != kept.npos);
    if (safe) shown.append(text.substr(0, bytes));
    else shown += '?';
    text.remove_prefix(bytes);
  }
  return shown;
}

// For one line of output: replaces line ends, too.
[[nodiscard]] inline std::string terminal_line(std::string_view text) { return terminal_text(text, ""); }

}  // namespace coracle::tools
