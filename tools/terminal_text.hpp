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

// The same for JSON, whose value stays the same: escapes such characters, which stand in strings only, where
// protobuf leaves them. Variation selectors are part of many emoji, and change no order.
[[nodiscard]] inline std::string terminal_json(std::string text) {
  const auto is_beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  auto at = static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_beyond_ascii) - text.begin());
  if (at == text.size()) return text;
  std::string shown = text.substr(0, at);
  const auto escape = [&](char32_t unit) {
    static constexpr char digits[] = "0123456789abcdef";
    shown.append("\\u");
    for (const int shift : {12, 8, 4, 0}) shown += digits[unit >> shift & 15];
  };
  while (at < text.size()) {
    const std::string_view rest = std::string_view(text).substr(at);
    const utf8_character c = first_character(rest);
    const bool selects_variation =
        (c.code >= 0xfe00 && c.code <= 0xfe0f) || (c.code >= 0xe0100 && c.code <= 0xe01ef);
    if (c.code < 0x80 || !is_shown_as_another(c.code) || selects_variation) {
      shown.append(rest.substr(0, std::max<std::size_t>(c.bytes, 1)));
    } else if (c.code < 0x10000) {
      escape(c.code);
    } else {
      escape(0xd800 + ((c.code - 0x10000) >> 10));
      escape(0xdc00 + ((c.code - 0x10000) & 0x3ff));
    }
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return shown;
}

// For one line of output: replaces line ends, too.
[[nodiscard]] inline std::string terminal_line(std::string_view text) { return terminal_text(text, ""); }

}  // namespace coracle::tools
