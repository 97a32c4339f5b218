// hex_id: the ids of traces and spans as text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::rpc {

// Returns -1 for what is no digit. Upper case is forbidden: W3C Trace Context 3.2.2.
[[nodiscard]] constexpr int hex_digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Writes text.size() / 2 bytes. Returns false if the text is not hexadecimal in lower case.
[[nodiscard]] constexpr bool parse_hex(std::string_view text, std::uint8_t* to) noexcept {
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_digit_of(text[i]);
    const int low = hex_digit_of(text[i + 1]);
    if (high < 0 || low < 0) return false;
    to[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

template <class Bytes>
void add_hex(std::string& to, const Bytes& from) {
  constexpr char digits[] = "0123456789abcdef";
  for (const std::uint8_t b : from) to.append({digits[b >> 4], digits[b & 15]});
}

template <class Bytes>
[[nodiscard]] bool all_zero(const Bytes& id) noexcept {
  return std::all_of(id.begin(), id.end(), [](std::uint8_t b) { return b == 0; });
}

}  // namespace coracle::rpc
