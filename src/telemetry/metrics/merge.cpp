#include "telemetry/metrics/merge.hpp"

#include "telemetry/metrics/call_instruments.hpp"
#include "telemetry/metrics/cost_instruments.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

namespace coracle::telemetry_internal {

namespace {

using labels = std::vector<std::pair<std::string, std::string>>;

// The points of one instrument while they are summed.
struct summed {
  const instrument* by = nullptr;
  std::map<labels, series> all;
  bool observed = false;

  void add(const series& s) {
    const auto [at, is_new] = all.try_emplace(s.labels, s);
    if (is_new) return;
    series& to = at->second;
    to.start = std::min(to.start, s.start);
    if (by->kind == instrument_kind::gauge) {
      // Loops have no common order: of several that set it, the one that did so most often.
      if (s.set_at >= to.set_at) to.value = s.value, to.set_at = s.set_at;
      return;
    }
    to.value += s.value;
    for (std::size_t i = 0; i < to.buckets.size() && i < s.buckets.size(); ++i) to.buckets[i] += s.buckets[i];
    if (to.exponential && s.exponential) to.exponential->add(*s.exponential);
  }
};

metric_point point_of(const instrument& by, series&& s) {
  metric_point p;
  p.labels = std::move(s.labels);
  p.start = s.start;
  if (by.kind != instrument_kind::histogram) {
    p.value = s.value;
    return p;
  }
  histogram_data& h = p.histogram.emplace();
  h.sum = s.value;
  if (s.exponential) {
    h.count = s.exponential->count();
    h.exponential = s.exponential->data();
  } else {
    for (const std::uint64_t n : s.buckets) h.count += n;
    h.buckets = std::move(s.buckets);
  }
  return p;
}

std::string text_of(const call_key& k) {
  return (k.client ? "c" : "s") + k.target + '\0' + k.method + '\0' + k.custom + '\0' +
         k.server.backend_service + '\0' + k.server.locality;
}

}  // namespace

metric_family family_of(const instrument& by) {
  metric_family f;
  f.name = by.name;
  f.description = by.description;
  f.unit = by.unit;
  f.kind = by.kind;
  f.bounds.assign(by.bounds.begin(), by.bounds.end());
  return f;
}

metrics_snapshot merge(std::vector<loop_copy> parts, const std::vector<read_gauge>& gauges,
                       const selection& what, std::chrono::system_clock::time_point now) {
  metrics_snapshot whole;
  whole.time = now;
  std::map<const instrument*, summed> by_instrument;
  const auto add = [&](const std::vector<series_table::copy>& copies, bool observed) {
    for (const series_table::copy& c : copies) {
      summed& to = by_instrument[c.by];
      to.by = c.by;
      to.observed |= observed;
      for (const series& s : c.all) to.add(s);
    }
  };
  std::unordered_map<std::string, method_calls> calls;
  for (loop_copy& part : parts) {
    add(part.measured, false);
    add(part.reported, true);
    for (method_calls& m : part.calls) {
      const auto [at, is_new] = calls.try_emplace(text_of(m.key));
      if (is_new) at->second = std::move(m);
      else at->second.add(m);
    }
  }
  for (auto& [by, points] : by_instrument) {
    metric_family f = family_of(*by);
    f.observed = points.observed;
    for (auto& [key, s] : points.all) f.points.push_back(point_of(*by, std::move(s)));
    whole.families.push_back(std::move(f));
  }
  for (const read_gauge& g : gauges) {
    if (!what.reports(*g.by)) continue;
    metric_family f = family_of(*g.by);
    f.points.emplace_back().value = g.value;
    whole.families.push_back(std::move(f));
  }
  std::vector<const method_calls*> in_order;
  for (const auto& [key, m] : calls) in_order.push_back(&m);
  std::ranges::sort(in_order, {}, [](const method_calls* m) {
    return std::tie(m->key.target, m->key.method, m->key.custom);
  });
  add_call_families(in_order, what, whole);
  add_cost_families(in_order, what, whole);
  std::ranges::sort(whole.families, {}, &metric_family::name);
  return whole;
}

}  // namespace coracle::telemetry_internal
