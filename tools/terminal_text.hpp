// terminal_text: what a server says, for a terminal that would obey some of it.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

// Control characters but line ends and tabs become '?': a status or a name from elsewhere must not move the cursor.
[[nodiscard]] inline std::string terminal_text(std::string_view text) {
  std::string shown(text);
  for (char& c : shown)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  return shown;
}

}  // namespace coracle::tools
