#include "telemetry/prometheus/sample_text.hpp"

#include "base/utf8.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>

namespace coracle::telemetry_internal::prometheus {

namespace {

void append_hexadecimal(std::string& to, std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (const std::uint8_t b : bytes) to.append({digits[b >> 4], digits[b & 15]});
}

bool append_if_not_finite(std::string& to, double value) {
  if (std::isfinite(value)) return false;
  to += std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  return true;
}

}  // namespace

void append_count(std::string& to, std::uint64_t value) {
  std::array<char, 20> text;
  to.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

void append_value(std::string& to, double value) {
  if (append_if_not_finite(to, value)) return;
  std::array<char, 32> text;
  char* const end = text.data() + text.size();
  constexpr double exact_max = 9007199254740992;  // up to 2^53, doubles are exact as whole numbers
  if (value == std::trunc(value) && std::abs(value) <= exact_max)
    to.append(text.data(), std::to_chars(text.data(), end, static_cast<std::int64_t>(value)).ptr);
  else to.append(text.data(), std::to_chars(text.data(), end, value).ptr);
}

void append_bound(std::string& to, double value, bool openmetrics) {
  if (append_if_not_finite(to, value)) return;
  std::array<char, 32> text;
  const char* const end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general).ptr;
  const std::string_view written(text.data(), end);
  to += written;
  if (openmetrics && written.find_first_of(".e") == std::string_view::npos) to += ".0";
}

void append_help(std::string& to, std::string_view text, bool openmetrics) {
  for (const char c : text) {
    if (c == '\\') to += "\\\\";
    else if (c == '\n') to += "\\n";
    else if (c == '"' && openmetrics) to += "\\\"";
    else to += c;
  }
}

void append_label_value(std::string& to, std::string_view value) {
  while (!value.empty()) {
    const std::size_t valid = base::valid_utf8_bytes(value);
    for (const char c : value.substr(0, valid)) {
      if (c == '\\') to += "\\\\";
      else if (c == '"') to += "\\\"";
      else if (c == '\n') to += "\\n";
      else to += c;
    }
    value.remove_prefix(valid);
    if (value.empty()) return;
    to += "\xEF\xBF\xBD";
    value.remove_prefix(1);
  }
}

void append_exemplar(std::string& to, const metric_exemplar& e) {
  to += " # {trace_id=\"";
  append_hexadecimal(to, e.trace);
  to += "\",span_id=\"";
  append_hexadecimal(to, e.span);
  to += "\"} ";
  append_value(to, e.value);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(e.time.time_since_epoch()).count();
  if (ms <= 0) return;
  std::array<char, 32> text;
  const int n = std::snprintf(text.data(), text.size(), " %lld.%03lld", static_cast<long long>(ms / 1000),
                              static_cast<long long>(ms % 1000));
  to.append(text.data(), static_cast<std::size_t>(n));
}

}  // namespace coracle::telemetry_internal::prometheus
