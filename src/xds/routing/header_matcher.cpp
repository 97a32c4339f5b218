#include "xds/routing/header_matcher.hpp"

#include <charconv>

namespace coracle::xds {

namespace {

bool is_within(std::string_view value, const header_matcher::range& r) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && end == value.data() + value.size() && number >= r.begin && number < r.end;
}

std::optional<std::string> value_of(std::string_view name, const header_source& headers) {
  if (name.ends_with("-bin")) return std::nullopt;
  if (name == "content-type") return "application/grpc";  // whatever the codec (gRFC A28)
  return headers.joined(name);
}

}  // namespace

bool header_matcher::matches(const header_source& headers) const {
  return matches_value(value_of(name, headers));
}

bool header_matcher::matches_value(const std::optional<std::string_view>& value) const {
  if (const auto* const p = std::get_if<presence>(&condition))
    return (value.has_value() == p->expected) != invert;
  if (!value) return false;
  if (const auto* const r = std::get_if<range>(&condition)) return is_within(*value, *r) != invert;
  return std::get<text_matcher>(condition).matches(*value) != invert;
}

}  // namespace coracle::xds
