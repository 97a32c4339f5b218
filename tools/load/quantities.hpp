// quantities: formats durations and numbers for people, and parses numbers.
#pragma once

#include <coracle/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tools::load {

// Accepts non-negative numbers such as "1000" and "0.5"; empty for everything else.
[[nodiscard]] std::optional<double> read_number(std::string_view text);

// Three significant digits and a suitable unit: "83.1 µs", "1.24 ms", "12 s".
[[nodiscard]] std::string format_duration(duration d);
// Fills the text up to `width` characters of UTF-8, on the left or on the right; printf() counts bytes.
enum class side : bool { left, right };
[[nodiscard]] std::string padded(std::string text, std::size_t width, side padding = side::left);
// "1,234,567"
[[nodiscard]] std::string format_count(std::uint64_t n);
// "12.3 MB"
[[nodiscard]] std::string format_bytes(std::uint64_t n);

[[nodiscard]] inline double milliseconds(duration d) noexcept { return static_cast<double>(d.count()) / 1e6; }

}  // namespace coracle::tools::load
