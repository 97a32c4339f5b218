#include "telemetry/metrics/series_table.hpp"

#include "base/utf8.hpp"
#include "telemetry/metrics/histogram.hpp"

#include <algorithm>

namespace coracle::telemetry_internal {

namespace {

// Longer values of labels are cut: a label names a kind of thing, and a peer may have chosen its text.
constexpr std::size_t label_bytes_max = 256;
constexpr std::string_view overflow_label = "otel.metric.overflow";

std::string_view bounded(std::string_view value) noexcept {
  value = value.substr(0, label_bytes_max);
  return value.substr(0, base::valid_utf8_bytes(value));
}

void append_to_key(std::string& key, std::string_view value) {
  key += std::to_string(value.size());
  key += ':';
  key += value;
}

}  // namespace

series_table::group& series_table::group_of(const instrument& by) {
  const auto [at, is_new] = groups_.try_emplace(&by);
  group& g = at->second;
  if (is_new) {
    g.reported = what_.reports(by);
    g.kept.assign(by.labels.size(), true);
    for (const std::string_view key : by.optional_labels) g.kept.push_back(what_.reports_label(key));
  }
  return g;
}

series& series_table::find(group& g, const instrument& by, std::span<const std::string_view> values,
                           std::chrono::system_clock::time_point now) {
  const auto value_of = [&](std::size_t i) {
    return i < values.size() ? bounded(values[i]) : std::string_view();
  };
  key_.clear();
  for (std::size_t i = 0; i < g.kept.size(); ++i)
    if (g.kept[i]) append_to_key(key_, value_of(i));
  if (const auto known = g.all.find(key_); known != g.all.end()) return known->second;
  series made;
  made.start = now;
  if (g.all.size() + 1 >= series_max_) {
    ++folded_;
    key_ = overflow_label;  // no key of values: those begin with a digit
    if (const auto known = g.all.find(key_); known != g.all.end()) return known->second;
    made.labels.emplace_back(overflow_label, "true");
  } else {
    for (std::size_t i = 0; i < g.kept.size(); ++i) {
      if (!g.kept[i]) continue;
      const std::size_t required = by.labels.size();
      const std::string_view key = i < required ? by.labels[i] : by.optional_labels[i - required];
      made.labels.emplace_back(key, value_of(i));
    }
  }
  if (by.kind == instrument_kind::histogram) {
    if (exponential_) made.exponential = std::make_unique<exponential_histogram>();
    else made.buckets.resize(by.bounds.size() + 1);
  }
  return g.all.emplace(key_, std::move(made)).first->second;
}

void series_table::measure(const instrument& by, double value, std::span<const std::string_view> values,
                           std::chrono::system_clock::time_point now) {
  group& g = group_of(by);
  if (!g.reported) return;
  series& s = find(g, by, values, now);
  switch (by.kind) {
    case instrument_kind::counter:
    case instrument_kind::up_down_counter: s.value += value; return;
    case instrument_kind::gauge:
      s.value = value;
      s.set_at = ++sets_;
      return;
    case instrument_kind::histogram:
      s.value += value;
      if (s.exponential) s.exponential->add(value);
      else ++s.buckets[bucket_of(by.bounds, value)];
      return;
  }
}

std::vector<series_table::copy> series_table::copies() const {
  std::vector<copy> made;
  for (const auto& [by, g] : groups_) {
    if (!g.reported || g.all.empty()) continue;
    copy& c = made.emplace_back(by, std::vector<series>());
    c.all.reserve(g.all.size());
    for (const auto& [key, s] : g.all) c.all.push_back(s);
  }
  return made;
}

}  // namespace coracle::telemetry_internal
