#include "tools/load/compare.hpp"

#include "tools/failure.hpp"
#include "tools/load/quantities.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace coracle::tools::load {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* latencies[] = {"min", "mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"};

std::string formatted(const char* form, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), form, value);
  return text.data();
}

std::string value_text(const compared& one, double value) {
  if (one.unit == "ms")
    return format_duration(
        std::chrono::duration_cast<duration>(std::chrono::duration<double, std::milli>(value)));
  if (one.unit == "%") return formatted("%.3g %%", value);
  const std::string number =
      value < 100 ? formatted("%.3g", value) : format_count(static_cast<std::uint64_t>(std::llround(value)));
  return number + (one.unit == "/s" ? "/s" : one.unit == "B" ? " B" : "");
}

void add_latencies(std::vector<compared>& to, const std::string& run, const json& a, const json& b) {
  if (!a.is_object() || !b.is_object()) return;  // no call succeeded
  for (const char* const name : latencies)
    if (a.contains(name) && b.contains(name))
      to.push_back({run, name, "ms", a[name].get<double>(), b[name].get<double>()});
}

double per_call(const json& run, const char* bytes) {
  const double calls = run.at("calls").get<double>();
  return calls > 0 ? run.at(bytes).get<double>() / calls : 0;
}

void add_run(std::vector<compared>& to, const std::string& name, const json& a, const json& b) {
  const auto both = [&](const char* number, const char* unit, double x, double y) {
    to.push_back({name, number, unit, x, y});
  };
  both("rate", "/s", a.at("rate_per_s").get<double>(), b.at("rate_per_s").get<double>());
  both("errors", "%", 100 * a.at("failed_share").get<double>(), 100 * b.at("failed_share").get<double>());
  add_latencies(to, name, a.at("latency_ms"), b.at("latency_ms"));
  both("sent/call", "B", per_call(a, "bytes_sent"), per_call(b, "bytes_sent"));
  both("received/call", "B", per_call(a, "bytes_received"), per_call(b, "bytes_received"));
  // Results of earlier versions lack them.
  if (a.contains("wire_bytes_sent") && b.contains("wire_bytes_sent")) {
    both("wire sent/call", "B", per_call(a, "wire_bytes_sent"), per_call(b, "wire_bytes_sent"));
    both("wire recv/call", "B", per_call(a, "wire_bytes_received"), per_call(b, "wire_bytes_received"));
  }
  if (a.at("methods").size() < 2) return;
  for (const json& one : a.at("methods"))
    for (const json& other : b.at("methods"))
      if (one.at("method") == other.at("method"))
        add_latencies(to, name + " " + one.at("method").get<std::string>(), one.at("latency_ms"),
                      other.at("latency_ms"));
}

}  // namespace

double compared::change() const noexcept {
  if (unit == "%") return after - before;
  return before == after ? 0 : 100 * (after - before) / before;
}

std::vector<compared> compare(const std::vector<run_pair>& pairs) {
  std::vector<compared> all;
  for (const run_pair& one : pairs) add_run(all, one.name, *one.before, *one.after);
  return all;
}

change_limit::change_limit(std::string_view text) : text_(text) {
  const std::size_t sign = text.find_first_of("<>");
  const bool whole = sign != text.npos && sign > 0 && text.ends_with('%');
  std::string_view number = whole ? text.substr(sign + 1, text.size() - sign - 2) : std::string_view();
  bool negative = false;
  if (number.starts_with('+') || number.starts_with('-')) {
    negative = number.front() == '-';
    number.remove_prefix(1);
  }
  const auto percent = read_number(number);
  if (!whole || !percent)
    throw usage_failure("--fail-if '" + text_ + "' must be such as 'p99>+10%', 'rate<-5%' or 'errors>+0.1%'");
  name_ = text.substr(0, sign);
  while (name_.ends_with(' ')) name_.pop_back();
  above_ = text[sign] == '>';
  percent_ = negative ? -*percent : *percent;
  const bool known = name_ == "rate" || name_ == "errors" ||
                     std::find(std::begin(latencies), std::end(latencies), name_) != std::end(latencies);
  if (!known)
    throw usage_failure("--fail-if '" + text_ + "': there is no number '" + name_ +
                        "'; there are rate, errors, min, mean, p50, p75, p90, p95, p99, p99.9 and max");
}

bool change_limit::broken_by(const compared& one) const noexcept {
  return applies_to(one) && (above_ ? one.change() > percent_ : one.change() < percent_);
}

namespace {

// "+12.3 %", or "x 12.5".
std::string change_text(const compared& one) {
  if (one.unit == "%") return formatted("%+.3g points", one.change());
  if (!std::isfinite(one.change())) return "new";
  // Large changes are easier to read as factors.
  constexpr double factor_min = 10;
  const auto factor = [](double by) {
    return by < 100 ? formatted("%.1f", by) : format_count(static_cast<std::uint64_t>(std::llround(by)));
  };
  if (one.before > 0 && one.after >= factor_min * one.before) return "x " + factor(one.after / one.before);
  if (one.after > 0 && one.before >= factor_min * one.after) return "/ " + factor(one.before / one.after);
  return formatted("%+.1f %%", one.change());
}

std::string row(const std::string& name, const std::string& before, const std::string& after,
                const std::string& change) {
  return "  " + padded(name, 14, side::right) + " " + padded(before, 12) + " " + padded(after, 12) + " " +
         padded(change, 14) + "\n";
}

}  // namespace

std::string table_of(const std::vector<compared>& all, const std::vector<run_pair>& pairs) {
  std::string text;
  const std::string* run = nullptr;
  for (const compared& one : all) {
    if (!run || *run != one.run) {
      text += (run ? "\n" : "") + one.run + "\n";
      for (const run_pair& pair : pairs)
        if (pair.name == one.run) text += pair.description();
      text += row("", "before", "after", "change");
      run = &one.run;
    }
    text += row(one.name, value_text(one, one.before), value_text(one, one.after), change_text(one));
  }
  return text;
}

}  // namespace coracle::tools::load
