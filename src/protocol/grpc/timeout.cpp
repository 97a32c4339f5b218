#include "protocol/grpc/timeout.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

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

// Returns the number that eight characters spell, of which the first is in the lowest octet, or -1 if one of
// them is not a digit.
std::int64_t eight_digits(std::uint64_t text) noexcept {
  constexpr std::uint64_t zeros = 0x3030303030303030;
  constexpr std::uint64_t upper_halves = 0xf0f0f0f0f0f0f0f0;
  // Adding 6 to a digit does not change the upper half of its octet.
  if ((text & upper_halves) != zeros || ((text + 0x0606060606060606) & upper_halves) != zeros) return -1;
  text -= zeros;
  // Neighbours are joined: digits, then pairs, then groups of four.
  text = (text * 10 + (text >> 8)) & 0x00ff00ff00ff00ff;
  text = (text * 100 + (text >> 16)) & 0x0000ffff0000ffff;
  return static_cast<std::int64_t>((text * 10'000 + (text >> 32)) & 0xffffffff);
}

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
  const char letter = text.back();
  std::int64_t n = 0;
  if (text.size() >= 8 && std::endian::native == std::endian::little) {
    // Clients mostly send seven or eight digits.
    std::uint64_t digits = 0;
    std::memcpy(&digits, text.data(), sizeof digits);
    n = eight_digits(text.size() == 9 ? digits : digits << 8 | '0');
  } else {
    for (const char c : text.substr(0, text.size() - 1))
      n = c < '0' || c > '9' || n < 0 ? -1 : n * 10 + (c - '0');
  }
  if (n < 0) return std::nullopt;
  switch (letter) {  // eight digits of these units fit
    case 'n': return duration(n);
    case 'u': return duration(n * 1'000);
    case 'm': return duration(n * 1'000'000);
    case 'S': return duration(n * 1'000'000'000);
    default: break;
  }
  for (const unit& u : units) {
    if (u.letter != letter) continue;
    if (n > duration::max().count() / u.ns) return duration::max();
    return duration(n * u.ns);
  }
  return std::nullopt;
}

}  // namespace coracle::protocol::grpc
