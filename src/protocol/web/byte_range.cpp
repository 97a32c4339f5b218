#include "protocol/web/byte_range.hpp"

#include "protocol/web/ascii.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace coracle::protocol::web {

namespace {

// A number that does not fit is more than any representation has. Nothing if `text` is not digits.
std::optional<std::uint64_t> parse_position(std::string_view text) noexcept {
  std::uint64_t n = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (end != text.data() + text.size()) return std::nullopt;
  return error == std::errc() ? n : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

range_request parse_range(std::string_view value, std::uint64_t size_bytes) noexcept {
  using kind = range_request::kind;
  constexpr std::string_view unit = "bytes=";
  if (!starts_with_ignoring_case(value, unit)) return {};
  const std::string_view spec = trim(value.substr(unit.size()));
  const std::size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return {};
  const auto last = parse_position(spec.substr(dash + 1));
  if (dash == 0) {  // the last bytes
    if (!last) return {};
    const std::uint64_t length = std::min(*last, size_bytes);
    if (length == 0) return {kind::unsatisfiable, {}};
    return {kind::part, {size_bytes - length, length}};
  }
  const auto first = parse_position(spec.substr(0, dash));
  const bool open = dash + 1 == spec.size();
  if (!first || (!open && (!last || *last < *first))) return {};
  if (*first >= size_bytes) return {kind::unsatisfiable, {}};
  const std::uint64_t end = open ? size_bytes : std::min(*last, size_bytes - 1) + 1;
  return {kind::part, {*first, end - *first}};
}

}  // namespace coracle::protocol::web
