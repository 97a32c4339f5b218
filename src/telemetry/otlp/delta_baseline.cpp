#include "telemetry/otlp/delta_baseline.hpp"

#include <algorithm>

namespace coracle::telemetry_internal {

namespace {

// Returns `b` with the scale `scale`, which is not finer than its own.
exponential_buckets at_scale(const exponential_buckets& b, std::int32_t scale) {
  const std::int32_t shift = b.scale - scale;
  if (shift <= 0 || b.counts.empty()) return b;
  exponential_buckets fewer;
  fewer.scale = scale;
  fewer.zeros = b.zeros;
  fewer.offset = b.offset >> shift;
  for (std::size_t i = 0; i < b.counts.size(); ++i) {
    const auto at =
        static_cast<std::size_t>(((b.offset + static_cast<std::int32_t>(i)) >> shift) - fewer.offset);
    if (at >= fewer.counts.size()) fewer.counts.resize(at + 1);
    fewer.counts[at] += b.counts[i];
  }
  return fewer;
}

void subtract(std::uint64_t& from, std::uint64_t n) noexcept { from -= std::min(from, n); }

void subtract(exponential_buckets& from, const exponential_buckets& before) {
  subtract(from.zeros, before.zeros);
  const exponential_buckets same = at_scale(before, from.scale);
  for (std::size_t i = 0; i < same.counts.size(); ++i) {
    const std::int64_t at = std::int64_t{same.offset} + static_cast<std::int64_t>(i) - from.offset;
    if (at >= 0 && at < std::ssize(from.counts))
      subtract(from.counts[static_cast<std::size_t>(at)], same.counts[i]);
  }
}

void subtract(histogram_data& from, const histogram_data& before) {
  subtract(from.count, before.count);
  from.sum -= before.sum;
  for (std::size_t i = 0; i < from.buckets.size() && i < before.buckets.size(); ++i)
    subtract(from.buckets[i], before.buckets[i]);
  if (from.exponential && before.exponential) subtract(*from.exponential, *before.exponential);
}

}  // namespace

aggregation aggregation_of(const metric_family& f, otlp_temporality preference) noexcept {
  switch (f.kind) {
    case instrument_kind::gauge: return aggregation::none;
    case instrument_kind::up_down_counter: return aggregation::cumulative;
    case instrument_kind::counter:
      if (preference == otlp_temporality::lowmemory && f.observed) return aggregation::cumulative;
      break;
    case instrument_kind::histogram: break;
  }
  return preference == otlp_temporality::cumulative ? aggregation::cumulative : aggregation::delta;
}

std::string delta_baseline::key_of(const metric_family& of, const metric_point& p) {
  std::string key = of.name;
  for (const auto& [name, value] : p.labels) {
    key += '\0';
    key.append(name).append(1, '\0').append(value);
  }
  return key;
}

std::optional<metric_point> delta_baseline::since(const metric_family& of, const metric_point& now) const {
  metric_point p = now;
  if (const auto at = totals_.find(key_of(of, now)); at != totals_.end()) {
    const total& before = at->second;
    // A total that has become smaller began anew.
    const bool is_reset = now.histogram ? before.histogram && now.histogram->count < before.histogram->count
                                        : now.value < before.value;
    if (!is_reset) {
      p.start = before.at;
      p.value -= before.value;
      if (p.histogram && before.histogram) subtract(*p.histogram, *before.histogram);
    }
  }
  if (p.histogram ? p.histogram->count == 0 : p.value == 0) return std::nullopt;
  return p;
}

void delta_baseline::delivered(const metric_family& of, const metric_point& now, wall_time at) {
  total& t = totals_[key_of(of, now)];
  t.at = at;
  t.value = now.value;
  t.histogram = now.histogram;
}

}  // namespace coracle::telemetry_internal
