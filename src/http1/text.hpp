// The characters, tokens and numbers of which the lines of HTTP/1.1 consist (RFC 9110 5.6, RFC 3986 2).
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace coracle::http1 {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_hex_digit(char c) noexcept { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }
constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

// The lower-case form of each character of a token (RFC 9110 5.6.2), 0 for every other octet.
inline constexpr std::array<char, 256> token_characters = [] {
  std::array<char, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"))
    table[static_cast<unsigned char>(c)] = c;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<unsigned char>(c)] = lower(c);
  return table;
}();
constexpr bool is_token_character(char c) noexcept {
  return token_characters[static_cast<unsigned char>(c)] != 0;
}

// RFC 9110 5.5: a field value consists of printable ASCII, SP, HTAB and octets above ASCII. Control
// characters are refused, because recipients disagree on what they mean.
constexpr bool is_value_character(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return (u >= 0x20 && u != 0x7f) || u == '\t';
}

constexpr bool equal_ignoring_case(std::string_view text, std::string_view lower_case) noexcept {
  if (text.size() != lower_case.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (lower(text[i]) != lower_case[i]) return false;
  return true;
}

// Without the white space (OWS) around it.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Returns false unless all of `text` is a number that fits.
template <class Number>
bool read_number(std::string_view text, Number& into, int base = 10) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Calls f for each element of a comma-separated list (RFC 9110 5.6.1), without the white space around it; f
// returns false to stop. An empty element is one, too. Returns false if f did.
template <class F>
bool each_element(std::string_view list, F f) {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (!f(trimmed(list.substr(0, comma)))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace coracle::http1
