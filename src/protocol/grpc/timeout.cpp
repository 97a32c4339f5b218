#include "protocol/grpc/timeout.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace coracle::protocol::grpc {

namespace {

struct unit {
  char letter;
  std::int64_t ns;
};
// From the finest to the coarsest.
constexpr std::array<unit, 6> units{{{'n', 1},
                                     {'u', 1'000},
                                     {'m', 1'000'000},
                                     {'S', 1'000'000'000},
                                     {'M', 60'000'000'000},
                                     {'H', 3'600'000'000'000}}};
constexpr std::int64_t max_value = 99'999'999;  // eight digits

}  // namespace

timeout_text format_timeout(duration left) noexcept {
  timeout_text out;
  const std::int64_t ns = left.count() > 0 ? left.count() : 0;
  for (const unit& u : units) {
    const std::int64_t n = ns / u.ns;
    if (n > max_value) continue;  // 292 years are 2.6 million hours, so a unit fits
    char* end = std::to_chars(out.bytes, out.bytes + sizeof out.bytes - 1, n).ptr;
    *end++ = u.letter;
    out.size = static_cast<unsigned>(end - out.bytes);
    break;
  }
  return out;
}

std::optional<duration> parse_timeout(std::string_view text) noexcept {
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  std::int64_t n = 0;
  for (char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + (c - '0');
  }
  for (const unit& u : units) {
    if (u.letter != text.back()) continue;
    if (n > duration::max().count() / u.ns) return duration::max();
    return duration(n * u.ns);
  }
  return std::nullopt;
}

}  // namespace coracle::protocol::grpc
