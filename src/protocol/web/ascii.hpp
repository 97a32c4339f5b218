// ascii: comparisons of protocol elements that ignore the case of ASCII letters, independent of the locale.
#pragma once

#include <cstddef>
#include <string_view>

namespace coracle::protocol::web {

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

constexpr bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() && equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// Removes optional whitespace (RFC 9110 5.6.3) at both ends.
constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Removes the first element of a comma-separated list (RFC 9110 5.6.1) from `list` and returns it without the
// whitespace around it. Elements may be empty; recipients ignore these.
constexpr std::string_view take_list_element(std::string_view& list) noexcept {
  const std::size_t comma = list.find(',');
  const std::string_view element = trim(list.substr(0, comma));
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  return element;
}

}  // namespace coracle::protocol::web
