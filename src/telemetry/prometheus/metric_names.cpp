#include "telemetry/prometheus/metric_names.hpp"

#include <array>
#include <utility>

namespace coracle::telemetry_internal::prometheus {

namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Letters, digits and single '_'.
std::string cleaned(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const char kept = is_letter(c) || is_digit(c) ? c : '_';
    if (kept != '_' || !out.ends_with('_')) out += kept;
  }
  return out;
}

using word = std::pair<std::string_view, std::string_view>;

// UCUM's symbols, as OpenTelemetry's rules for Prometheus translate them.
constexpr std::array<word, 30> units{{
    {"d", "days"},         {"h", "hours"},         {"min", "minutes"},
    {"s", "seconds"},      {"ms", "milliseconds"}, {"us", "microseconds"},
    {"ns", "nanoseconds"}, {"By", "bytes"},        {"KiBy", "kibibytes"},
    {"MiBy", "mebibytes"}, {"GiBy", "gibibytes"},  {"TiBy", "tibibytes"},
    {"KBy", "kilobytes"},  {"MBy", "megabytes"},   {"GBy", "gigabytes"},
    {"TBy", "terabytes"},  {"B", "bytes"},         {"KB", "kilobytes"},
    {"MB", "megabytes"},   {"GB", "gigabytes"},    {"m", "meters"},
    {"V", "volts"},        {"A", "amperes"},       {"J", "joules"},
    {"W", "watts"},        {"g", "grams"},         {"Cel", "celsius"},
    {"Hz", "hertz"},       {"%", "percent"},       {"1", ""},
}};
constexpr std::array<word, 8> periods{{{"s", "second"},
                                       {"m", "minute"},
                                       {"min", "minute"},
                                       {"h", "hour"},
                                       {"d", "day"},
                                       {"w", "week"},
                                       {"mo", "month"},
                                       {"y", "year"}}};

template <std::size_t N>
std::string word_for(const std::array<word, N>& table, std::string_view symbol) {
  if (symbol.find('{') != std::string_view::npos) return {};
  for (const auto& [known, text] : table)
    if (known == symbol) return std::string(text);
  return cleaned(symbol);
}

std::string unit_in_words(std::string_view unit, instrument_kind kind) {
  if (unit == "1" && kind == instrument_kind::gauge) return "ratio";
  const std::size_t slash = unit.find('/');
  std::string all = word_for(units, unit.substr(0, slash));
  if (slash == std::string_view::npos) return all;
  const std::string period = word_for(periods, unit.substr(slash + 1));
  if (period.empty()) return all;
  if (!all.empty()) all += '_';
  return all.append("per_").append(period);
}

}  // namespace

metric_name name_of_metric(std::string_view name, std::string_view unit, instrument_kind kind) {
  metric_name n{cleaned(name), unit_in_words(unit, kind)};
  constexpr std::string_view total = "_total";
  if (kind == instrument_kind::counter && n.family.size() > total.size() && n.family.ends_with(total))
    n.family.resize(n.family.size() - total.size());
  if (n.family.empty() || is_digit(n.family.front())) n.family.insert(0, "_");
  while (n.unit.starts_with('_')) n.unit.erase(0, 1);
  if (!n.unit.empty() && n.family != n.unit && !n.family.ends_with("_" + n.unit)) {
    if (!n.family.ends_with('_')) n.family += '_';
    n.family += n.unit;
  }
  return n;
}

std::string name_of_label(std::string_view key, bool of_histogram) {
  std::string name = cleaned(key);
  if (name.empty() || is_digit(name.front())) name.insert(0, "key_");
  if (of_histogram && name == "le") name += '_';
  return name;
}

std::string escaped(std::string_view name, name_escaping scheme) {
  std::string out;
  for (const char c : name) {
    out += c;
    if (c == '_' && scheme == name_escaping::dots) out += c;
  }
  return out;
}

}  // namespace coracle::telemetry_internal::prometheus
