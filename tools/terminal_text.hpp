// terminal_text: what a server says, for a terminal that would obey some of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools {

// How many bytes the control character at the text's beginning has; 0: there is none. In UTF-8.
[[nodiscard]] inline std::size_t control_bytes(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  if ((at(0) < 0x20 && at(0) != '\n' && at(0) != '\t') || at(0) == 0x7f) return 1;
  // U+0080 to U+009F: U+009B is ESC and '[' in one.
  if (at(0) == 0xc2 && at(1) >= 0x80 && at(1) <= 0x9f) return 2;
  // U+202A to U+202E and U+2066 to U+2069 turn what is shown around.
  if (at(0) == 0xe2 && at(1) == 0x80 && at(2) >= 0xaa && at(2) <= 0xae) return 3;
  if (at(0) == 0xe2 && at(1) == 0x81 && at(2) >= 0xa6 && at(2) <= 0xa9) return 3;
  return 0;
}

// Control characters but line ends and tabs become '?': a status or a name from elsewhere must not move the cursor, nor show
// itself as another.
[[nodiscard]] inline std::string terminal_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t control = control_bytes(text);
    shown += control > 0 ? '?' : text.front();
    text.remove_prefix(control > 0 ? control : 1);
  }
  return shown;
}

}  // namespace coracle::tools
