#include "telemetry/pages/call_rates.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace coracle::telemetry_internal {

namespace {

std::string_view label_of(const metric_point& p, std::string_view key) {
  for (const auto& [k, v] : p.labels)
    if (k == key) return v;
  return {};
}

// A sample holds what was counted since the telemetry began.
void add_sample(const metrics_snapshot& from, bool is_now, std::map<std::string, call_rates>& to) {
  const double sign = is_now ? 1 : -1;
  if (const metric_family* const started = from.find("grpc.server.call.started"))
    for (const metric_point& p : started->points) {
      call_rates& of = to[std::string(label_of(p, "grpc.method"))];
      of.started_per_s += sign * p.value;
      if (is_now) of.started += static_cast<std::uint64_t>(p.value);
    }
  const metric_family* const durations = from.find("grpc.server.call.duration");
  if (!durations) return;
  for (const metric_point& p : durations->points) {
    if (!p.histogram) continue;
    call_rates& of = to[std::string(label_of(p, "grpc.method"))];
    const bool ok = label_of(p, "grpc.status") == "OK";
    const auto count = static_cast<double>(p.histogram->count);
    of.ended_per_s += sign * count;
    if (!ok) of.failed_per_s += sign * count;
    if (is_now) of.ended += p.histogram->count;
    if (is_now && !ok) of.failed += p.histogram->count;
    of.bounds_s = durations->bounds;
    of.buckets.resize(std::max(of.buckets.size(), p.histogram->buckets.size()));
    // Unsigned numbers wrap around, and are right once both samples were added.
    for (std::size_t i = 0; i < p.histogram->buckets.size(); ++i)
      of.buckets[i] += is_now ? p.histogram->buckets[i] : 0 - p.histogram->buckets[i];
  }
}

}  // namespace

void call_rates::add(const call_rates& other) {
  started += other.started;
  ended += other.ended;
  failed += other.failed;
  started_per_s += other.started_per_s;
  ended_per_s += other.ended_per_s;
  failed_per_s += other.failed_per_s;
  if (bounds_s.empty()) bounds_s = other.bounds_s;
  buckets.resize(std::max(buckets.size(), other.buckets.size()));
  for (std::size_t i = 0; i < other.buckets.size(); ++i) buckets[i] += other.buckets[i];
}

// Within a bucket, latencies are taken to be spread evenly. The last bucket has no end.
std::optional<double> call_rates::latency_s(double part) const {
  std::uint64_t all = 0;
  for (const std::uint64_t n : buckets) all += n;
  if (all == 0 || bounds_s.size() + 1 != buckets.size()) return std::nullopt;
  const double wanted = part * static_cast<double>(all);
  double below = 0;
  for (std::size_t i = 0; i < bounds_s.size(); ++i) {
    const auto here = static_cast<double>(buckets[i]);
    if (below + here >= wanted && here > 0) {
      const double from = i == 0 ? 0 : bounds_s[i - 1];
      return from + (bounds_s[i] - from) * (wanted - below) / here;
    }
    below += here;
  }
  return bounds_s.empty() ? 0 : bounds_s.back();
}

std::map<std::string, call_rates> rates_of_methods(const sample_pair& samples) {
  std::map<std::string, call_rates> all;
  add_sample(samples.now->metrics, true, all);
  add_sample(samples.before->metrics, false, all);
  const double seconds = std::max(samples.seconds(), 0.001);
  for (auto& [method, of] : all)
    for (double* const rate : {&of.started_per_s, &of.ended_per_s, &of.failed_per_s}) *rate /= seconds;
  return all;
}

}  // namespace coracle::telemetry_internal
