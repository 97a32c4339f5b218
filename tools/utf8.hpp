// utf8: decodes the characters of untrusted bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace coracle::tools {

struct utf8_character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: the bytes are not well-formed UTF-8
};

// The first character of a non-empty text (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] constexpr utf8_character first_character(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3f);
  }
  constexpr char32_t shortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < shortest[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

[[nodiscard]] constexpr bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace coracle::tools
