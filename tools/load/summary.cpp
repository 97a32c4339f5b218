#include "tools/load/outputs.hpp"
#include "tools/load/quantities.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
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
  if (per_s >= 1000) return show_count(static_cast<std::uint64_t>(per_s + 0.5)) + "/s";
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
    text += std::string(name) + " " + show(l.quantile(q));
  }
  return text;
}

std::string bands_of(const results& r) {
  std::string text;
  for (std::size_t i = 0; i < r.in_band.size(); ++i) {
    if (i == 0) text += "below " + show(r.bands[i]);
    else if (i < r.bands.size()) text += ", to " + show(r.bands[i]);
    else text += ", above";
    text += ": " + show_count(r.in_band[i]) + " (" + share(r.in_band[i], r.calls()) + ")";
  }
  return text + ", failed: " + show_count(r.failed_count);
}

std::string traffic_of(const traffic_tally& t) {
  return show_count(t.messages_sent) + " sent (" + show_bytes(t.bytes_sent) + "), " +
         show_count(t.messages_received) + " received (" + show_bytes(t.bytes_received) + ")";
}

std::string connects_of(const results& r) {
  std::string text = show_count(r.connects.count());
  if (r.connects.count() > 0)
    text += ", p50 " + show(r.connects.quantile(0.5)) + ", p99 " + show(r.connects.quantile(0.99)) +
            ", max " + show(r.connects.max());
  if (r.connects_failed > 0) text += "; failed: " + show_count(r.connects_failed);
  if (r.reconnects > 0) text += "; reconnects: " + show_count(r.reconnects);
  return text;
}

}  // namespace

std::string summary_of(const results& r) {
  std::string text = r.name + " on " + r.target + ": " + r.scenario + "\n";
  if (r.interrupted) text += "  interrupted: these are the calls until then\n";
  text += line("calls", show_count(r.calls()) + " in " + show(r.took) + "; well: " + show_count(r.ok()) +
                            ", " + rate(r.rate_per_s()));
  text += line("failed", show_count(r.failed_count) + " (" + share(r.failed_count, r.calls()) + ")");
  for (const auto& [status, what] : r.failed)
    text += line("", show_count(what.count) + " " + status + (what.first.empty() ? "" : ": " + what.first));
  if (r.ok() > 0) {
    text += line("latency", "min " + show(r.latency.min()) + "  mean " + show(r.latency.mean()) + "  max " +
                                show(r.latency.max()));
    text += line("", percentiles(r.latency));
    text += line("bands", bands_of(r));
  }
  if (r.methods.size() > 1)
    for (const method_results& m : r.methods)
      text += line("of them", m.name + ": " + show_count(m.latency.count() + m.failed) + ", failed " +
                                  show_count(m.failed) + ", p50 " + show(m.latency.quantile(0.5)) + ", p99 " +
                                  show(m.latency.quantile(0.99)));
  text += line("messages", traffic_of(r.traffic));
  text += line("connects", connects_of(r));
  for (const expectation::verdict& v : r.verdicts)
    text += line(v.met ? "met" : "NOT MET", v.expected + ": it is " + v.found);
  return text;
}

}  // namespace coracle::tools::load
