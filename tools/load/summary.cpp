#include "tools/load/outputs.hpp"
#include "tools/load/quantities.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace coracle::tools::load {

namespace {

std::string share(std::uint64_t part, std::uint64_t of) {
  if (of == 0) return "0 %";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%",
                100 * static_cast<double>(part) / static_cast<double>(of));
  return text.data();
}

std::string rate(double per_s) {
  if (per_s >= 1000) return format_count(static_cast<std::uint64_t>(per_s + 0.5)) + "/s";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f/s", per_s);
  return text.data();
}

std::string line(const char* name, const std::string& text) {
  std::array<char, 32> start{};
  std::snprintf(start.data(), start.size(), "  %-10s ", name);
  return start.data() + text + "\n";
}

std::string percentiles(const latency_histogram& l) {
  std::string text;
  for (const auto& [name, q] : {std::pair("p50", 0.5), std::pair("p75", 0.75), std::pair("p90", 0.9),
                                std::pair("p95", 0.95), std::pair("p99", 0.99), std::pair("p99.9", 0.999)}) {
    if (!text.empty()) text += "  ";
    text += std::string(name) + " " + format_duration(l.quantile(q));
  }
  return text;
}

std::string bands_of(const results& r) {
  std::string text;
  for (std::size_t i = 0; i < r.in_band.size(); ++i) {
    if (i == 0) text += "below " + format_duration(r.bands[i]);
    else if (i < r.bands.size()) text += ", to " + format_duration(r.bands[i]);
    else text += ", above";
    text += ": " + format_count(r.in_band[i]) + " (" + share(r.in_band[i], r.calls()) + ")";
  }
  return text + ", failed: " + format_count(r.failed_count);
}

bool terminal_has_blocks() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* const value = std::getenv(name); value && *value)
      return std::string_view(value).find("UTF-8") != std::string_view::npos;
  return false;
}

// Rows of equal factors between the fastest and the slowest call, at most `rows_max`.
std::string histogram_of(const latency_histogram& l) {
  constexpr int rows_max = 10;
  constexpr std::size_t width = 40;
  const auto places = l.places();
  const double low = std::log(static_cast<double>(std::max<std::int64_t>(l.min().count(), 1)));
  const double high = std::log(static_cast<double>(std::max<std::int64_t>(l.max().count(), 2)));
  const double step = (high - low) / rows_max;
  if (places.size() < 3 || step <= 0) return {};
  std::array<std::uint64_t, rows_max> calls{};
  for (const auto& one : places) {
    const double at = std::log(static_cast<double>(std::max<std::int64_t>(one.upto.count(), 1)));
    const int row = std::clamp(static_cast<int>((at - low) / step), 0, rows_max - 1);
    calls[static_cast<std::size_t>(row)] += one.count;
  }
  const std::uint64_t most = *std::max_element(calls.begin(), calls.end());
  const std::string mark = terminal_has_blocks() ? "\u2588" : "#";
  std::string text;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const duration upto(static_cast<std::int64_t>(std::exp(low + step * static_cast<double>(i + 1))));
    const std::string head = "to " + padded(format_duration(upto), 9, side::right) + " " +
                             padded(format_count(calls[i]), 12) + "  ";
    std::string bar;
    const std::size_t length = (calls[i] * width + most - 1) / most;
    for (std::size_t k = 0; k < length; ++k) bar += mark;
    std::string row = line(i == 0 ? "histogram" : "", head + bar);
    row.erase(row.find_last_not_of(" \n") + 1);
    text += row + "\n";
  }
  return text;
}

std::string traffic_of(const traffic_stats& t) {
  return format_count(t.messages_sent) + " sent (" + format_bytes(t.bytes_sent) + "), " +
         format_count(t.messages_received) + " received (" + format_bytes(t.bytes_received) + ")";
}

std::string wire_of(const results& r) {
  const auto part = [&](std::uint64_t total) {
    const double bytes = r.per_call(total);
    std::array<char, 32> each{};
    std::snprintf(each.data(), each.size(), "%.4g", bytes);
    const std::string text =
        bytes < 1000 ? each.data() : format_count(static_cast<std::uint64_t>(std::llround(bytes)));
    return format_bytes(total) + " (" + text + " B per call)";
  };
  return part(r.traffic.wire.sent) + " sent, " + part(r.traffic.wire.received) + " received";
}

std::string connects_of(const results& r) {
  std::string text = format_count(r.connects.count());
  if (r.connects.count() > 0)
    text += ", p50 " + format_duration(r.connects.quantile(0.5)) + ", p99 " +
            format_duration(r.connects.quantile(0.99)) + ", max " + format_duration(r.connects.max());
  if (r.connects_failed > 0) text += "; failed: " + format_count(r.connects_failed);
  if (r.reconnects > 0) text += "; reconnects: " + format_count(r.reconnects);
  return text;
}

}  // namespace

std::string summary_of(const results& r) {
  std::string text = r.name + " on " + r.target + ": " + r.scenario + "\n";
  if (r.interrupted) text += "  interrupted: these are the calls until then\n";
  text += line("calls", format_count(r.calls()) + " in " + format_duration(r.took) +
                            "; OK: " + format_count(r.ok()) + ", " + rate(r.rate_per_s()));
  text += line("failed", format_count(r.failed_count) + " (" + share(r.failed_count, r.calls()) + ")");
  for (const auto& [status, failure_counts] : r.failed)
    text += line("", format_count(failure_counts.count) + " " + status +
                         (failure_counts.first.empty() ? "" : ": " + failure_counts.first));
  if (r.ok() > 0) {
    text +=
        line("latency", "min " + format_duration(r.latency.min()) + "  mean " +
                            format_duration(r.latency.mean()) + "  max " + format_duration(r.latency.max()));
    text += line("", percentiles(r.latency));
    if (!r.bands.empty()) text += line("bands", bands_of(r));
    text += histogram_of(r.latency);
  }
  if (r.methods.size() > 1)
    for (const method_results& m : r.methods)
      text +=
          line("method", m.name + ": " + format_count(m.latency.count() + m.failed) + ", failed " +
                             format_count(m.failed) + ", p50 " + format_duration(m.latency.quantile(0.5)) +
                             ", p99 " + format_duration(m.latency.quantile(0.99)));
  text += line("messages", traffic_of(r.traffic));
  text += line("wire", wire_of(r));
  text += line("connects", connects_of(r));
  for (const expectation::verdict& v : r.verdicts)
    text += line(v.met ? "met" : "FAILED", v.expected + " (actual " + v.found + ")");
  return text;
}

}  // namespace coracle::tools::load
