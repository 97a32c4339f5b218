// trimmed, read_number: the parts of which lines of HTTP/1.1 consist.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace coracle::http1 {

inline std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// Returns false unless all of `text` is a number that fits.
template <class Number>
bool read_number(std::string_view text, Number& into, int base = 10) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace coracle::http1
