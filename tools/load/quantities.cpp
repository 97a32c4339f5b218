#include "tools/load/quantities.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <system_error>

namespace coracle::tools::load {

namespace {

// Formats three significant digits.
std::string three_digits(double value) {
  std::array<char, 32> text{};
  const int places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::snprintf(text.data(), text.size(), "%.*f", places, value);
  std::string text_shown = text.data();
  if (places > 0) {
    while (text_shown.back() == '0') text_shown.pop_back();
    if (text_shown.back() == '.') text_shown.pop_back();
  }
  return text_shown;
}

}  // namespace

std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value) || std::signbit(value)) return std::nullopt;
  return value;
}

std::string format_duration(duration d) {
  const auto ns = static_cast<double>(d.count());
  if (ns < 999.5) return three_digits(ns) + " ns";
  if (ns < 999.5e3) return three_digits(ns / 1e3) + " µs";
  if (ns < 999.5e6) return three_digits(ns / 1e6) + " ms";
  return three_digits(ns / 1e9) + " s";
}

std::string padded(std::string text, std::size_t width, side padding) {
  const auto is_lead = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  const auto columns = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_lead));
  if (columns < width) text.insert(padding == side::left ? 0 : text.size(), width - columns, ' ');
  return text;
}

std::string format_count(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string format_bytes(std::uint64_t n) {
  constexpr std::array<const char*, 5> units = {" B", " kB", " MB", " GB", " TB"};
  auto value = static_cast<double>(n);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return three_digits(value) + units[unit];
}

}  // namespace coracle::tools::load
