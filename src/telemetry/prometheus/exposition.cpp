#include "telemetry/prometheus/exposition.hpp"

#include "telemetry/prometheus/classic_buckets.hpp"
#include "telemetry/prometheus/metric_names.hpp"
#include "telemetry/prometheus/sample_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace coracle::telemetry_internal::prometheus {

namespace {

using syntax = exposition_format::syntax;

// A block of the exposition: the instruments that have one name.
struct block {
  metric_name name;
  std::vector<const metric_family*> families;
};

bool is_exponential(const metric_family& f) noexcept {
  return !f.points.empty() && f.points.front().histogram && f.points.front().histogram->exponential;
}

// The names of samples that a block may have in either format, besides that of the family.
std::span<const std::string_view> suffixes_of(instrument_kind kind) noexcept {
  static constexpr std::array<std::string_view, 2> counter{"_total", "_created"};
  static constexpr std::array<std::string_view, 4> histogram{"_bucket", "_count", "_sum", "_created"};
  if (kind == instrument_kind::counter) return counter;
  if (kind == instrument_kind::histogram) return histogram;
  return {};
}

// Finds out which instruments make a block together, and leaves out those whose names clash with others'.
std::vector<block> blocks_of(const metrics_snapshot& metrics, exposition& to) {
  std::vector<block> blocks;
  std::unordered_map<std::string, std::size_t> taken{{"target", ~std::size_t{0}},
                                                     {"target_info", ~std::size_t{0}}};
  for (const metric_family& f : metrics.families) {
    block b{name_of_metric(f.name, f.unit, f.kind), {&f}};
    if (const auto same = taken.find(b.name.family); same != taken.end() && same->second < blocks.size()) {
      block& known = blocks[same->second];
      const metric_family& first = *known.families.front();
      if (known.name.family == b.name.family && first.kind == f.kind && first.bounds == f.bounds &&
          is_exponential(first) == is_exponential(f)) {
        known.families.push_back(&f);
        continue;
      }
    }
    std::vector<std::string> names{b.name.family};
    for (const std::string_view s : suffixes_of(f.kind)) names.push_back(b.name.family + std::string(s));
    if (std::ranges::any_of(names, [&](const std::string& n) { return taken.contains(n); })) {
      to.left_out.push_back(f.name);
      continue;
    }
    for (std::string& n : names) taken.emplace(std::move(n), blocks.size());
    blocks.push_back(std::move(b));
  }
  return blocks;
}

// Writes one block after the other.
class writer {
 public:
  writer(const exposition_options& o, exposition& to)
      : options_(o), to_(to), openmetrics_(o.format.kind == syntax::openmetrics) {}

  void add(const block& b) {
    const metric_family& f = *b.families.front();
    name_ = in_scheme(b.name.family);
    begin_block(f, b.name);
    seen_.clear();
    label_names_.clear();
    if (f.kind == instrument_kind::histogram) prepare_buckets(f);
    for (const metric_family* part : b.families)
      for (const metric_point& p : part->points) {
        if (full()) return;
        if (!add_point(*part, p)) leave_out(part->name);
      }
  }
  // What the process is (OpenTelemetry's resource).
  void add_target() {
    const std::string_view name = openmetrics_ ? "target" : "target_info";
    line({"# TYPE ", in_scheme(name), openmetrics_ ? " info\n" : " gauge\n"});
    line({"# HELP ", in_scheme(name), " Attributes of the process that is observed.\n"});
    label_names_.clear();
    sample(in_scheme("target_info"), label_text(options_.resource, false), 1, nullptr);
  }
  void end() {
    if (openmetrics_) to_.text += "# EOF\n";
  }
  // Whether a limit is exceeded. The rest of the series is counted by the caller.
  [[nodiscard]] bool full() const noexcept { return to_.text.size() > text_bytes_max; }

 private:
  [[nodiscard]] std::string in_scheme(std::string_view name) const {
    return escaped(name, options_.format.escaping.value_or(name_escaping::underscores));
  }
  void line(std::initializer_list<std::string_view> parts) {
    for (const std::string_view p : parts) to_.text += p;
  }
  void leave_out(const std::string& name) {
    if (to_.left_out.empty() || to_.left_out.back() != name) to_.left_out.push_back(name);
  }

  void begin_block(const metric_family& f, const metric_name& n) {
    const bool counter = f.kind == instrument_kind::counter;
    if (counter) total_ = name_ + in_scheme("_total");
    const std::string& shown = counter && !openmetrics_ ? total_ : name_;
    const std::string_view type = counter                                ? "counter"
                                  : f.kind == instrument_kind::histogram ? "histogram"
                                                                         : "gauge";
    line({"# TYPE ", shown, " ", type, "\n"});
    if (openmetrics_ && !n.unit.empty()) line({"# UNIT ", shown, " ", in_scheme(n.unit), "\n"});
    if (f.description.empty()) return;
    line({"# HELP ", shown, " "});
    append_help(to_.text, f.description, openmetrics_);
    to_.text += '\n';
  }

  // Of a label, in the scheme. The points of a block have the same few keys.
  const std::string& name_of(const std::string& key, bool of_histogram) {
    const auto known = std::ranges::find(label_names_, key, &label_name::first);
    if (known != label_names_.end()) return known->second;
    return label_names_.emplace_back(key, in_scheme(name_of_label(key, of_histogram))).second;
  }
  // The labels in braces, without the closing one; empty if there are none. In the order of their names, so
  // that equal labels are equal texts.
  std::string label_text(const std::vector<std::pair<std::string, std::string>>& labels, bool of_histogram) {
    std::map<std::string_view, std::string> values;
    for (const auto& [key, value] : labels) {
      if (value.empty()) continue;  // the same as no label
      const auto [at, is_new] = values.try_emplace(name_of(key, of_histogram), value);
      if (!is_new) at->second.append(";").append(value);  // of another key that is the same name here
    }
    std::string text;
    for (const auto& [name, value] : values) {
      text += text.empty() ? '{' : ',';
      text.append(name).append("=\"");
      append_label_value(text, value);
      text += '"';
    }
    return text;
  }

  // Returns false if the point would make the exposition invalid.
  bool add_point(const metric_family& f, const metric_point& p) {
    const bool histogram = f.kind == instrument_kind::histogram;
    if (histogram != p.histogram.has_value()) return false;
    if (f.kind == instrument_kind::counter && !(p.value >= 0)) return false;
    const std::string labels = label_text(p.labels, histogram);
    if (!seen_.insert(labels).second) return false;
    if (histogram) return add_histogram(*p.histogram, labels, p.exemplars);
    const bool counter = f.kind == instrument_kind::counter;
    const metric_exemplar* const exemplar = counter && !p.exemplars.empty() ? &p.exemplars.front() : nullptr;
    sample(counter ? total_ : name_, labels, p.value, exemplar);
    return true;
  }

  void prepare_buckets(const metric_family& f) {
    bounds_ = is_exponential(f) ? converted_bounds(f.bounds) : f.bounds;
    while (!bounds_.empty() && std::isinf(bounds_.back())) bounds_.pop_back();
    ends_.clear();
    for (const double b : bounds_) {
      std::string& end = ends_.emplace_back("le=\"");
      append_bound(end, b, openmetrics_);
      end += "\"} ";
    }
    ends_.emplace_back("le=\"+Inf\"} ");
  }

  bool add_histogram(const histogram_data& h, const std::string& labels,
                     const std::vector<metric_exemplar>& exemplars) {
    const std::vector<std::uint64_t> converted =
        h.exponential ? converted_counts(*h.exponential, bounds_) : std::vector<std::uint64_t>();
    const std::vector<std::uint64_t>& counts = h.exponential ? converted : h.buckets;
    if (counts.size() < ends_.size()) return false;
    const std::string begin = name_ + in_scheme("_bucket") + (labels.empty() ? "{" : labels + ",");
    std::uint64_t below = 0;
    auto exemplar = exemplars.begin();
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      below += counts[i];
      // A bound of infinity was removed from the end: what lies above it is nothing.
      if (i + 1 == ends_.size())
        for (std::size_t more = i + 1; more < counts.size(); ++more) below += counts[more];
      to_.text.append(begin).append(ends_[i]);
      append_count(to_.text, below);
      // Exemplars are in the order of the buckets. One in a bucket that does not exist here is skipped.
      const metric_exemplar* inside = nullptr;
      while (exemplar != exemplars.end() && (i >= bounds_.size() || exemplar->value <= bounds_[i]))
        inside = &*exemplar++;
      end_line(inside);
    }
    // OpenMetrics: a sum of values of both signs is no counter; without it there is no count, either.
    if (openmetrics_ && !bounds_.empty() && bounds_.front() < 0) return true;
    sample(name_ + in_scheme("_sum"), labels, h.sum, nullptr);
    sample(name_ + in_scheme("_count"), labels, static_cast<double>(below), nullptr);
    return true;
  }

  void sample(std::string_view name, const std::string& labels, double value,
              const metric_exemplar* exemplar) {
    to_.text.append(name).append(labels).append(labels.empty() ? " " : "} ");
    append_value(to_.text, value);
    end_line(exemplar);
  }
  void end_line(const metric_exemplar* exemplar) {
    if (exemplar && openmetrics_) append_exemplar(to_.text, *exemplar);
    to_.text += '\n';
  }

  using label_name = std::pair<std::string, std::string>;
  const exposition_options& options_;
  exposition& to_;
  const bool openmetrics_;
  // Of the block.
  std::string name_;
  std::string total_;
  std::vector<double> bounds_;
  std::vector<std::string> ends_;  // of the lines of buckets
  std::deque<label_name> label_names_;  // by key; their addresses stay
  std::unordered_set<std::string> seen_;  // labels
};

std::size_t series_of(const block& b) {
  std::size_t points = 0;
  for (const metric_family* f : b.families) points += f->points.size();
  const metric_family& f = *b.families.front();
  if (f.kind != instrument_kind::histogram) return points;
  const std::size_t bounds = is_exponential(f) ? converted_bounds(f.bounds).size() : f.bounds.size();
  return points * (bounds + 3);  // the last bucket, the sum and the count
}

}  // namespace

exposition expose(const metrics_snapshot& metrics, const exposition_options& options) {
  exposition all;
  const std::vector<block> blocks = blocks_of(metrics, all);
  all.series = 1;
  for (const block& b : blocks) all.series += series_of(b);
  if (all.series > options.series_max) {
    all.too_large = true;
    return all;
  }
  constexpr std::size_t bytes_per_series = 120;  // of most; more makes the text grow once or twice
  all.text.reserve(std::min(all.series * bytes_per_series, text_bytes_max));
  writer w(options, all);
  w.add_target();
  for (const block& b : blocks) w.add(b);
  w.end();
  all.too_large = w.full();
  return all;
}

}  // namespace coracle::telemetry_internal::prometheus
