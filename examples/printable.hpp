// printable(): text that a peer sent, for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace examples {

// How many bytes the character at the beginning of `text` has, which is not empty. 0: a terminal may obey it instead of
// showing it (a control character, or one that reorders or hides others), or it is not UTF-8.
inline std::size_t shown_bytes(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto within = [](unsigned c, unsigned first, unsigned last) { return c >= first && c <= last; };
  const unsigned lead = at(0);
  if (lead < 0x80) return within(lead, ' ', '~') || lead == '\t' ? 1 : 0;
  const std::size_t bytes = within(lead, 0xc2, 0xdf)   ? 2
                            : within(lead, 0xe0, 0xef) ? 3
                            : within(lead, 0xf0, 0xf4) ? 4
                                                       : 0;
  for (std::size_t i = 1; i < bytes; ++i)
    if (!within(at(i), 0x80, 0xbf)) return 0;
  const bool overlong = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xf0 && at(1) < 0x90);
  const bool control = lead == 0xc2 && at(1) < 0xa0;  // U+0080 to U+009F
  const unsigned point = (lead & 0x0f) << 12 | (at(1) & 0x3f) << 6 | (at(2) & 0x3f);
  const bool directs = bytes == 3 && (within(point, 0x200b, 0x200f) || within(point, 0x2028, 0x202e) ||
                                      within(point, 0x2060, 0x206f) || point == 0xfeff);
  return overlong || control || directs ? 0 : bytes;
}

// Everything else becomes \x1b and the like, so that a reply or the text of a status can neither move the cursor nor
// begin a new line.
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = shown_bytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (bytes > 0) shown += text.substr(0, bytes);
    else shown.append("\\x").append({digits[first >> 4], digits[first & 0xf]});
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return shown;
}

}  // namespace examples
