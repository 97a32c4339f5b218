#include "telemetry/otlp/encode_metrics.hpp"

#include "coracle/base/bytes.hpp"
#include "telemetry/otlp/wire.hpp"

#include <algorithm>
#include <string>

namespace coracle::telemetry_internal {

namespace {

// The numbers of fields that differ between the kinds of data points.
struct point_fields {
  std::uint32_t attributes, exemplars;
};
constexpr point_fields number_point{7, 5};
constexpr point_fields histogram_point{9, 8};
constexpr point_fields exponential_point{1, 11};

void put_exemplars(std::string& to, std::uint32_t field, const metric_point& p) {
  const auto is_set = [](const auto& id) {
    return std::ranges::any_of(id, [](std::uint8_t b) { return b != 0; });
  };
  for (const metric_exemplar& e : p.exemplars) {
    std::string m;
    put_time(m, 2, e.time);
    put_double(m, 3, e.value);
    if (is_set(e.span)) put_text(m, 4, as_text(e.span));
    if (is_set(e.trace)) put_text(m, 5, as_text(e.trace));
    put_text(to, field, m);
  }
}

void put_labels_and_exemplars(std::string& to, const point_fields& fields, const metric_point& p) {
  for (const auto& [key, value] : p.labels) put_attribute(to, fields.attributes, key, value);
  put_exemplars(to, fields.exemplars, p);
}

std::string encode_point(const metric_family& f, const metric_point& p, wall_time now) {
  std::string m;
  if (f.kind != instrument_kind::gauge) put_time(m, 2, p.start);
  put_time(m, 3, now);
  if (!p.histogram) {
    put_double(m, 4, p.value);
    put_labels_and_exemplars(m, number_point, p);
    return m;
  }
  const histogram_data& h = *p.histogram;
  put_fixed64(m, 4, h.count);
  put_double(m, 5, h.sum);
  if (!h.exponential) {
    put_fixed64s(m, 6, h.buckets);
    put_doubles(m, 7, f.bounds);
    put_labels_and_exemplars(m, histogram_point, p);
    return m;
  }
  put_sint32(m, 6, h.exponential->scale);
  put_fixed64(m, 7, h.exponential->zeros);
  std::string positive;
  put_sint32(positive, 1, h.exponential->offset);
  put_varints(positive, 2, h.exponential->counts);
  put_text(m, 8, positive);
  put_labels_and_exemplars(m, exponential_point, p);
  return m;
}

// The field of Metric that has the data.
std::uint32_t data_field(const metric_family& f) noexcept {
  switch (f.kind) {
    case instrument_kind::gauge: return 5;
    case instrument_kind::counter:
    case instrument_kind::up_down_counter: return 7;
    case instrument_kind::histogram: break;
  }
  const bool exponential =
      !f.points.empty() && f.points.front().histogram && f.points.front().histogram->exponential;
  return exponential ? 10 : 9;
}

// Collects the points of a family in as many Metric messages as the size of requests requires.
class metric_builder {
 public:
  metric_builder(const metric_family& f, aggregation a, request_builder& to)
      : field_(data_field(f)), to_(to) {
    put_string(head_, 1, f.name);
    put_string(head_, 2, f.description);
    put_string(head_, 3, f.unit);
    put_number(tail_, 2, static_cast<std::uint64_t>(a));
    put_number(tail_, 3, f.kind == instrument_kind::counter);
  }
  bool add(std::string_view point) {
    if (size_with(point) > to_.room()) end();
    if (size_with(point) > to_.room()) to_.end_request();
    if (size_with(point) > to_.room()) return false;
    put_text(points_, 1, point, true);
    ++count_;
    return true;
  }
  void end() {
    if (count_ == 0) return;
    std::string metric = head_;
    put_text(metric, field_, points_ + tail_);
    to_.add(metric, count_);
    points_.clear();
    count_ = 0;
  }

 private:
  [[nodiscard]] std::size_t size_with(std::string_view point) const noexcept {
    constexpr std::size_t envelopes_bytes = 2 * 6;
    return head_.size() + points_.size() + point.size() + tail_.size() + envelopes_bytes;
  }
  const std::uint32_t field_;
  request_builder& to_;
  std::string head_;
  std::string tail_;
  std::string points_;
  std::size_t count_ = 0;
};

}  // namespace

metrics_batch encode_metrics(const metrics_snapshot& s, otlp_temporality preference,
                             const delta_baseline& before, std::string_view resource,
                             std::size_t request_bytes_max) {
  metrics_batch batch;
  request_builder requests(resource, request_bytes_max);
  for (const metric_family& f : s.families) {
    const aggregation a = aggregation_of(f, preference);
    metric_builder metric(f, a, requests);
    for (const metric_point& total : f.points) {
      std::string point;
      if (a == aggregation::delta) {
        const auto difference = before.since(f, total);
        if (!difference) continue;
        point = encode_point(f, *difference, s.time);
      } else {
        point = encode_point(f, total, s.time);
      }
      if (metric.add(point)) batch.points.push_back({&f, &total});
      else ++batch.too_large;
    }
    metric.end();
  }
  batch.requests = std::move(requests).take();
  return batch;
}

}  // namespace coracle::telemetry_internal
