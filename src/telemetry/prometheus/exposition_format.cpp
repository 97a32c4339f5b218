#include "telemetry/prometheus/exposition_format.hpp"

#include "protocol/web/accept.hpp"
#include "protocol/web/ascii.hpp"

#include <array>

namespace coracle::telemetry_internal::prometheus {

namespace {

namespace web = protocol::web;

constexpr std::array<std::string_view, 4> escaping_names{"allow-utf-8", "underscores", "dots", "values"};

std::optional<name_escaping> escaping_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < escaping_names.size(); ++i)
    if (web::equal_ignoring_case(name, escaping_names[i])) return static_cast<name_escaping>(i);
  return std::nullopt;
}

// A media range of Accept (RFC 9110 12.5.1).
struct media_range {
  std::string_view type;
  std::string_view version;
  std::optional<name_escaping> escaping;
  int weight = web::weight_max;
};

std::string_view take_parameter(std::string_view& rest) noexcept {
  const std::size_t semicolon = rest.find(';');
  const std::string_view first = web::trim(rest.substr(0, semicolon));
  rest.remove_prefix(semicolon == std::string_view::npos ? rest.size() : semicolon + 1);
  return first;
}

// Takes the first range off the list. A quoted value with a comma, which no parameter here has, makes two
// ranges that are not known.
media_range take_range(std::string_view& list) noexcept {
  std::string_view rest = web::take_list_element(list);
  media_range r;
  r.type = take_parameter(rest);
  while (!rest.empty()) {
    const std::string_view parameter = take_parameter(rest);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = web::trim(parameter.substr(0, equals));
    std::string_view value = web::trim(parameter.substr(equals + 1));
    if (web::equal_ignoring_case(name, "q")) r.weight = web::parse_weight(value);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
      value = value.substr(1, value.size() - 2);
    if (web::equal_ignoring_case(name, "version")) r.version = value;
    if (web::equal_ignoring_case(name, "escaping")) r.escaping = escaping_named(value);
  }
  return r;
}

// What is served for a range; nothing if it is not known.
std::optional<exposition_format> format_of(const media_range& r) noexcept {
  using enum exposition_format::syntax;
  exposition_format f;
  f.escaping = r.escaping;
  if (web::equal_ignoring_case(r.type, "application/openmetrics-text")) {
    f.kind = openmetrics;
    if (r.version.empty() || r.version == "1.0.0") f.version = "1.0.0";
    else if (r.version == "0.0.1") f.version = "0.0.1";
    else return std::nullopt;
    return f;
  }
  // Version 1.0.0 of the text differs in names that need quotes, which are never written.
  if (web::equal_ignoring_case(r.type, "text/plain")) {
    if (r.version == "1.0.0") f.version = "1.0.0";
    else if (!r.version.empty() && r.version != "0.0.4") return std::nullopt;
    return f;
  }
  if (r.type == "*/*" || web::equal_ignoring_case(r.type, "text/*")) return f;
  return std::nullopt;
}

}  // namespace

std::string exposition_format::content_type() const {
  std::string t = kind == syntax::openmetrics ? "application/openmetrics-text" : "text/plain";
  t.append("; version=").append(version).append("; charset=utf-8");
  if (escaping) t.append("; escaping=").append(escaping_names[static_cast<std::size_t>(*escaping)]);
  return t;
}

exposition_format format_for(std::string_view accept) noexcept {
  exposition_format best;
  int weight = 0;
  while (!accept.empty()) {
    const media_range r = take_range(accept);
    if (r.weight <= weight) continue;
    const auto f = format_of(r);
    if (!f) continue;
    best = *f;
    weight = r.weight;
  }
  return best;
}

}  // namespace coracle::telemetry_internal::prometheus
