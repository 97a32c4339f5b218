#include "tools/load/outputs.hpp"
#include "tools/load/quantities.hpp"

#include <coracle/base/version.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <utility>

namespace coracle::tools::load {

namespace {

using json = nlohmann::ordered_json;

json latency_json(const latency_histogram& l) {
  if (l.count() == 0) return nullptr;
  return {{"min", milliseconds(l.min())},          {"mean", milliseconds(l.mean())},
          {"p50", milliseconds(l.quantile(0.5))},  {"p75", milliseconds(l.quantile(0.75))},
          {"p90", milliseconds(l.quantile(0.9))},  {"p95", milliseconds(l.quantile(0.95))},
          {"p99", milliseconds(l.quantile(0.99))}, {"p99.9", milliseconds(l.quantile(0.999))},
          {"max", milliseconds(l.max())}};
}

// The percentiles are denser towards the tail.
json percentile_curve(const latency_histogram& l) {
  json all = json::array();
  if (l.count() == 0) return all;
  for (const double p :
       {0.0,  5.0,  10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0,  65.0,
        70.0, 75.0, 80.0, 85.0, 90.0, 92.5, 95.0, 97.0, 98.0, 99.0, 99.5, 99.9, 99.99, 100.0})
    all.push_back({{"percentile", p}, {"latency_ms", milliseconds(l.quantile(p / 100))}});
  return all;
}

// A bar chart with ten bars per power of ten.
json bars(const latency_histogram& l) {
  json all = json::array();
  const auto bar_of = [](duration d) {
    return static_cast<int>(std::floor(10 * std::log10(std::max<double>(static_cast<double>(d.count()), 1))));
  };
  const auto edge_ms = [](int bar) { return std::pow(10, bar / 10.0) / 1e6; };
  const auto places = l.places();
  for (std::size_t i = 0; i < places.size();) {
    const int bar = bar_of(places[i].upto);
    // Empty bars between two others are drawn, too.
    while (!all.empty() && all.back()["bar"].get<int>() + 1 < bar) {
      const int empty = all.back()["bar"].get<int>() + 1;
      all.push_back(
          {{"from_ms", edge_ms(empty)}, {"to_ms", edge_ms(empty + 1)}, {"calls", 0}, {"bar", empty}});
    }
    std::uint64_t calls = 0;
    for (; i < places.size() && bar_of(places[i].upto) == bar; ++i) calls += places[i].count;
    all.push_back({{"from_ms", edge_ms(bar)}, {"to_ms", edge_ms(bar + 1)}, {"calls", calls}, {"bar", bar}});
  }
  for (json& one : all) one.erase("bar");
  return all;
}

json bands_json(const results& r) {
  json all = json::array();
  for (std::size_t i = 0; i < r.in_band.size(); ++i)
    all.push_back({{"from_ms", i == 0 ? 0 : milliseconds(r.bands[i - 1])},
                   {"to_ms", i < r.bands.size() ? json(milliseconds(r.bands[i])) : json(nullptr)},
                   {"calls", r.in_band[i]}});
  return all;
}

json statuses(const results& r) {
  json all = json::array();
  if (r.ok() > 0) all.push_back({{"status", "OK"}, {"calls", r.ok()}});
  for (const auto& [status, failure_counts] : r.failed)
    all.push_back({{"status", status}, {"calls", failure_counts.count}, {"first", failure_counts.first}});
  return all;
}

json methods_json(const results& r) {
  json all = json::array();
  for (const method_results& m : r.methods)
    all.push_back({{"method", m.name},
                   {"weight", m.weight},
                   {"calls", m.latency.count() + m.failed},
                   {"ok", m.latency.count()},
                   {"failed", m.failed},
                   {"latency_ms", latency_json(m.latency)}});
  return all;
}

// The last second is usually incomplete.
json seconds_json(const results& r) {
  json all = json::array();
  const double took_s = std::chrono::duration<double>(r.took).count();
  for (std::size_t i = 0; i < r.seconds.size(); ++i) {
    const second_of_load& s = r.seconds[i];
    const double length_s = std::min(1.0, std::max(0.0, took_s - static_cast<double>(i)));
    all.push_back({{"second", i},
                   {"length_s", length_s},
                   {"calls", s.calls()},
                   {"ok", s.latency.count()},
                   {"failed", s.failed},
                   {"active", s.active},
                   {"bytes_sent", s.bytes_sent},
                   {"bytes_received", s.bytes_received},
                   {"wire_bytes_sent", s.wire.sent},
                   {"wire_bytes_received", s.wire.received},
                   {"latency_ms", latency_json(s.latency)}});
    json& second = all.back();
    if (!r.planned_by_second.empty())
      second["planned"] = i < r.planned_by_second.size() ? r.planned_by_second[i] : 0;
    if (s.failed > 0) second["statuses"] = s.failed_by_status;
    for (std::size_t m = 0; m < s.methods.size(); ++m)
      second["methods"].push_back({{"method", r.methods[m].name},
                                   {"ok", s.methods[m].latency.count()},
                                   {"failed", s.methods[m].failed},
                                   {"latency_ms", latency_json(s.methods[m].latency)}});
  }
  return all;
}

std::string utc(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

json verdicts(const results& r) {
  json all = json::array();
  for (const expectation::verdict& v : r.verdicts)
    all.push_back({{"expected", v.expected}, {"found", v.found}, {"met", v.met}});
  return all;
}

json run_json(const results& r) {
  json server = {{"address", r.server.address}, {"software", r.server.software}};
  json connects = {{"made", r.connects.count()},
                   {"failed", r.connects_failed},
                   {"reconnects", r.reconnects},
                   {"latency_ms", latency_json(r.connects)}};
  json per_call = {{"bytes_sent", r.per_call(r.traffic.bytes_sent)},
                   {"bytes_received", r.per_call(r.traffic.bytes_received)},
                   {"wire_bytes_sent", r.per_call(r.traffic.wire.sent)},
                   {"wire_bytes_received", r.per_call(r.traffic.wire.received)}};
  return {{"name", r.name},
          {"target", r.target},
          {"server", std::move(server)},
          {"scenario", r.scenario},
          {"protocol", r.protocol},
          {"data", r.data},
          {"started", utc(r.started)},
          {"interrupted", r.interrupted},
          {"seconds", std::chrono::duration<double>(r.took).count()},
          {"planned", r.planned ? json(*r.planned) : json(nullptr)},
          {"calls", r.calls()},
          {"ok", r.ok()},
          {"failed", r.failed_count},
          {"failed_share", r.failed_share()},
          {"rate_per_s", r.rate_per_s()},
          {"messages_sent", r.traffic.messages_sent},
          {"messages_received", r.traffic.messages_received},
          {"bytes_sent", r.traffic.bytes_sent},
          {"bytes_received", r.traffic.bytes_received},
          {"wire_bytes_sent", r.traffic.wire.sent},
          {"wire_bytes_received", r.traffic.wire.received},
          {"per_call", std::move(per_call)},
          {"latency_ms", latency_json(r.latency)},
          {"bands", bands_json(r)},
          {"connects", std::move(connects)},
          {"statuses", statuses(r)},
          {"methods", methods_json(r)},
          {"expectations", verdicts(r)},
          {"percentiles", percentile_curve(r.latency)},
          {"histogram", bars(r.latency)},
          {"per_second", seconds_json(r)}};
}

}  // namespace

json json_of(const std::vector<results>& runs, const origin& from) {
  json host = {{"name", from.host}, {"system", from.system}, {"cpus", from.cpus}};
  json all = {{"program", "coracle load"},
              {"version", version_text},
              {"command", from.command},
              {"host", std::move(host)},
              {"runs", json::array()}};
  for (const results& r : runs) all["runs"].push_back(run_json(r));
  return all;
}

}  // namespace coracle::tools::load
