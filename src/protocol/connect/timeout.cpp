#include "protocol/connect/timeout.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace coracle::protocol::connect {

timeout_text format_timeout(duration left) noexcept {
  constexpr std::int64_t ms_max = 9'999'999'999;
  timeout_text out;
  constexpr duration unit = std::chrono::milliseconds(1);
  const std::int64_t ms = std::max<std::int64_t>(left / unit + (left % unit > duration::zero()), 1);
  if (ms > ms_max) return out;
  out.size =
      static_cast<unsigned>(std::to_chars(out.bytes, out.bytes + sizeof out.bytes, ms).ptr - out.bytes);
  return out;
}

std::optional<duration> parse_timeout(std::string_view text) noexcept {
  if (text.empty() || text.size() > timeout_digits_max) return std::nullopt;
  std::int64_t ms = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    ms = ms * 10 + (c - '0');
  }
  return std::chrono::milliseconds(ms);  // ten digits fit into 64 bits of nanoseconds
}

}  // namespace coracle::protocol::connect
