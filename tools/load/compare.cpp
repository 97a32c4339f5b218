#include "tools/load/compare.hpp"

#include "tools/failure.hpp"
#include "tools/load/quantities.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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

std::string change_text(const compared& one) {
  if (one.unit == "%") return formatted("%+.3g points", one.change());
  return std::isfinite(one.change()) ? formatted("%+.1f %%", one.change()) : "new";
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

std::string html(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c == '&') all += "&amp;";
    else if (c == '<') all += "&lt;";
    else if (c == '>') all += "&gt;";
    else if (c == '"') all += "&quot;";
    else all += c;
  }
  return all;
}

// A curve of latency by percentile, on a logarithmic axis from `low` to `high` milliseconds.
std::string curve(const json& run, double low, double high, const char* name) {
  std::string points;
  const double span = std::max(std::log10(high) - std::log10(low), 1e-9);
  std::size_t i = 0;
  for (const json& one : run.at("percentiles")) {
    const double x = 60.0 + 640.0 * static_cast<double>(i++) /
                                std::max<double>(1, static_cast<double>(run["percentiles"].size()) - 1);
    const double y =
        260.0 -
        240.0 * (std::log10(std::max(one.at("latency_ms").get<double>(), low)) - std::log10(low)) / span;
    points += formatted("%.1f", x) + "," + formatted("%.1f ", y);
  }
  return "<polyline class=\"" + std::string(name) + "\" points=\"" + points + "\"/>";
}

std::string chart(const json& before, const json& after) {
  double low = 1e300, high = 0;
  for (const json* const run : {&before, &after})
    for (const json& one : run->at("percentiles")) {
      low = std::min(low, std::max(one.at("latency_ms").get<double>(), 1e-6));
      high = std::max(high, one.at("latency_ms").get<double>());
    }
  if (high <= 0) return {};
  std::string svg =
      "<svg viewBox=\"0 0 720 300\" role=\"img\" aria-label=\"Latency by percentile, before and after\">";
  for (const double at : {low, std::sqrt(low * high), high}) {
    const double y =
        260 - 240 * (std::log10(at) - std::log10(low)) / std::max(std::log10(high) - std::log10(low), 1e-9);
    svg +=
        "<text x=\"0\" y=\"" + formatted("%.0f", y + 4) + "\">" +
        format_duration(std::chrono::duration_cast<duration>(std::chrono::duration<double, std::milli>(at))) +
        "</text><line x1=\"60\" x2=\"700\" y1=\"" + formatted("%.0f", y) + "\" y2=\"" + formatted("%.0f", y) +
        "\"/>";
  }
  svg +=
      "<text x=\"60\" y=\"285\">p0</text><text x=\"375\" y=\"285\">p65</text><text x=\"676\" "
      "y=\"285\">p100</text>";
  return svg + curve(before, low, high, "before") + curve(after, low, high, "after") + "</svg>";
}

std::string about(const json& result) {
  return html(result.value("command", std::string()) + " (" + result.value("version", std::string()) + ", " +
              result.at("runs").at(0).value("started", std::string()) + ")");
}

}  // namespace

double compared::change() const noexcept {
  if (unit == "%") return after - before;
  return before == after ? 0 : 100 * (after - before) / before;
}

std::vector<compared> compare(const json& before, const json& after) try {
  std::vector<compared> all;
  const json& a = before.at("runs");
  const json& b = after.at("runs");
  if (a.size() == 1 && b.size() == 1) {
    add_run(all, a[0].at("name").get<std::string>(), a[0], b[0]);
    return all;
  }
  for (const json& one : a)
    for (const json& other : b)
      if (one.at("name") == other.at("name")) add_run(all, one.at("name").get<std::string>(), one, other);
  if (all.empty()) throw failure("the results have no run with the same name");
  return all;
} catch (const json::exception& error) {
  throw failure(std::string("this is not a result of `coracle load --json`: ") + error.what());
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

std::string table_of(const std::vector<compared>& all) {
  std::string text;
  const std::string* run = nullptr;
  for (const compared& one : all) {
    if (!run || *run != one.run) {
      text += (run ? "\n" : "") + one.run + "\n";
      std::array<char, 96> head{};
      std::snprintf(head.data(), head.size(), "  %-14s %12s %12s %14s\n", "", "before", "after", "change");
      text += head.data();
      run = &one.run;
    }
    std::array<char, 160> line{};
    std::snprintf(line.data(), line.size(), "  %-14s %12s %12s %14s\n", one.name.c_str(),
                  value_text(one, one.before).c_str(), value_text(one, one.after).c_str(),
                  change_text(one).c_str());
    text += line.data();
  }
  return text;
}

std::string page_of(const std::vector<compared>& all, const json& before, const json& after,
                    const std::vector<std::string>& broken) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>Comparison of two load runs</title><style>\n"
      ":root{color-scheme:light dark;--ink:light-dark(#1a1f27,#e4e8ee);--paper:light-dark(#fff,#14181d);"
      "--line:light-dark(#d5dae1,#333b45);--before:light-dark(#5b6675,#9aa5b3);--after:light-dark(#0b62c4,#"
      "6cb0ff);"
      "--bad:light-dark(#b3261e,#ff8a80)}\n"
      "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 "
      "1rem;color:var(--ink);"
      "background:var(--paper)}table{border-collapse:collapse;width:100%}td,th{padding:.25rem "
      ".75rem;text-align:right;"
      "border-bottom:1px solid "
      "var(--line)}td:first-child,th:first-child{text-align:left}.broken{color:var(--bad);"
      "font-weight:600}svg{width:100%;font-size:12px;fill:var(--ink)}polyline{fill:none;stroke-width:2}"
      ".before{stroke:var(--before);color:var(--before)}.after{stroke:var(--after);color:var(--after)}"
      "line{stroke:var(--line)}code{overflow-wrap:anywhere}\n"
      "</style></head><body>\n<h1>Comparison of two load runs</h1>\n";
  for (const std::string& one : broken) page += "<p class=\"broken\">Failed: " + html(one) + "</p>\n";
  page += "<p><b class=\"before\">Before:</b> <code>" + about(before) +
          "</code></p>\n<p><b class=\"after\">After:</b> <code>" + about(after) + "</code></p>\n";
  page += chart(before.at("runs").at(0), after.at("runs").at(0));
  const std::string* run = nullptr;
  for (const compared& one : all) {
    if (!run || *run != one.run) {
      page += (run ? "</table>\n" : "") + std::string("<h2>") + html(one.run) +
              "</h2>\n<table><tr><th></th><th>before</th><th>after</th><th>change</th></tr>\n";
      run = &one.run;
    }
    page += "<tr><td>" + html(one.name) + "</td><td>" + value_text(one, one.before) + "</td><td>" +
            value_text(one, one.after) + "</td><td>" + change_text(one) + "</td></tr>\n";
  }
  return page + "</table>\n</body></html>\n";
}

}  // namespace coracle::tools::load
