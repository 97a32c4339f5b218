// exposition_tool text|openmetrics: prints what a server serves to Prometheus if it has all instruments of
// the library, exemplars, and labels as hostile peers choose them; for prometheus_test.py. Every histogram
// has one value in its second bucket, everything else the value 1.
#include "support/all_instruments.hpp"
#include "telemetry/prometheus/exposition.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace coracle;
namespace prometheus = telemetry_internal::prometheus;

metric_family family_of(const instrument& i) {
  metric_family f;
  f.name = i.name;
  f.description = i.description;
  f.unit = i.unit;
  f.kind = i.kind;
  f.bounds.assign(i.bounds.begin(), i.bounds.end());
  return f;
}

metric_exemplar example(double value) {
  metric_exemplar e;
  e.value = value;
  e.time = std::chrono::system_clock::now();
  e.trace.fill(0xAB);
  e.span.fill(0xCD);
  return e;
}

metric_point point_of(const instrument& i) {
  metric_point p;
  for (const std::string_view key : i.labels) p.labels.emplace_back(key, "some");
  for (const std::string_view key : i.optional_labels) p.labels.emplace_back(key, "some");
  p.value = 1;
  if (i.kind == instrument_kind::counter) p.exemplars.push_back(example(1));
  if (i.kind != instrument_kind::histogram) return p;
  const double value = i.bounds[1];
  histogram_data& h = p.histogram.emplace();
  h.count = 1;
  h.sum = value;
  h.buckets.resize(i.bounds.size() + 1);
  h.buckets[1] = 1;
  p.exemplars.push_back(example(value));
  return p;
}

// What peers choose: names of methods that a filter admits, and targets.
metric_family hostile() {
  metric_family f;
  f.name = "test.hostile";
  f.description = "Labels with \"quotes\", a \\ and\na line break.";
  f.unit = "{value}";
  f.kind = instrument_kind::gauge;
  const std::string_view values[] = {"\"quoted\"", "line\nbreak",  "back\\slash\\",
                                     "\\n",        "\r\t\x01\x7F", "not \xFF\xC0 UTF-8",
                                     "} 7\n# EOF", "\xEF\xBB\xBF", "日本"};
  for (const std::string_view v : values) {
    metric_point p;
    p.labels = {{"value", std::string(v)}, {"case", std::to_string(f.points.size())}};
    p.value = static_cast<double>(f.points.size());
    f.points.push_back(p);
  }
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  prometheus::exposition_options options;
  options.series_max = 1'000'000;
  options.resource = {{"service.name", "exposition \"tool\""}};
  const std::string_view kind = argc == 2 ? argv[1] : "";
  if (kind == "openmetrics") options.format = prometheus::format_for("application/openmetrics-text");
  else if (kind != "text") return 64;
  metrics_snapshot all;
  for (const instrument* i : testing_support::all_instruments()) {
    all.families.push_back(family_of(*i));
    all.families.back().points.push_back(point_of(*i));
  }
  all.families.push_back(hostile());
  const prometheus::exposition made = prometheus::expose(all, options);
  for (const std::string& name : made.left_out) std::fprintf(stderr, "left out: %s\n", name.c_str());
  std::fwrite(made.text.data(), 1, made.text.size(), stdout);
  return made.left_out.empty() ? 0 : 1;
}
