// recorded: the providers of a program, and what was recorded with them.
#pragma once

#include <coracle/opentelemetry/buckets.hpp>

#include <opentelemetry/exporters/memory/in_memory_span_data.h>
#include <opentelemetry/exporters/memory/in_memory_span_exporter_factory.h>
#include <opentelemetry/sdk/metrics/aggregation/aggregation_config.h>
#include <opentelemetry/sdk/metrics/data/metric_data.h>
#include <opentelemetry/sdk/metrics/export/metric_producer.h>
#include <opentelemetry/sdk/metrics/meter_provider.h>
#include <opentelemetry/sdk/metrics/metric_reader.h>
#include <opentelemetry/sdk/metrics/view/instrument_selector_factory.h>
#include <opentelemetry/sdk/metrics/view/meter_selector_factory.h>
#include <opentelemetry/sdk/metrics/view/view_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace metrics_sdk = opentelemetry::sdk::metrics;
namespace trace_sdk = opentelemetry::sdk::trace;
namespace memory = opentelemetry::exporter::memory;

// --8<-- [start:views]
// The buckets of gRFC A66 for all histograms of calls. `scope` is opentelemetry_options::scope.
inline void add_views(metrics_sdk::MeterProvider& provider, const std::string& scope) {
  const auto view = [&](const char* instruments, const char* unit, const auto& buckets) {
    auto config = std::make_shared<metrics_sdk::HistogramAggregationConfig>();
    config->boundaries_.assign(buckets.begin(), buckets.end());
    provider.AddView(
        metrics_sdk::InstrumentSelectorFactory::Create(metrics_sdk::InstrumentType::kHistogram, instruments,
                                                       unit),
        metrics_sdk::MeterSelectorFactory::Create(scope, "", ""),
        metrics_sdk::ViewFactory::Create("", "", unit, metrics_sdk::AggregationType::kHistogram, config));
  };
  view("grpc\\..*\\.duration", "s", coracle::opentelemetry_latency_buckets);
  view("grpc\\..*_message_size", "By", coracle::opentelemetry_size_buckets);
}
// --8<-- [end:views]

// Collects when it is asked to, so that nothing runs at the same time.
class asked_reader final : public metrics_sdk::MetricReader {
 public:
  metrics_sdk::AggregationTemporality GetAggregationTemporality(
      metrics_sdk::InstrumentType) const noexcept override {
    return metrics_sdk::AggregationTemporality::kCumulative;
  }

 private:
  bool OnForceFlush(std::chrono::microseconds) noexcept override { return true; }
  bool OnShutDown(std::chrono::microseconds) noexcept override { return true; }
};

class recorded {
 public:
  explicit recorded(const std::string& scope) : scope_(scope) {
    meters->AddMetricReader(reader_);
    add_views(*meters, scope);
    auto exporter = memory::InMemorySpanExporterFactory::Create(spans_, 1000);
    tracers = trace_sdk::TracerProviderFactory::Create(
        trace_sdk::SimpleSpanProcessorFactory::Create(std::move(exporter)));
  }

  // How many values each series of an instrument has, by its labels: "grpc.method=a.B/C grpc.status=OK".
  std::map<std::string, std::uint64_t> counts(const std::string& instrument) {
    std::map<std::string, std::uint64_t> found;
    visit(instrument, [&](const std::string& labels, const auto& point) {
      using opentelemetry::nostd::get;
      using opentelemetry::nostd::holds_alternative;
      if (holds_alternative<metrics_sdk::HistogramPointData>(point))
        found[labels] = get<metrics_sdk::HistogramPointData>(point).count_;
      else
        found[labels] =
            static_cast<std::uint64_t>(get<std::int64_t>(get<metrics_sdk::SumPointData>(point).value_));
    });
    return found;
  }
  // The only series of a histogram.
  metrics_sdk::HistogramPointData histogram(const std::string& instrument) {
    metrics_sdk::HistogramPointData found;
    visit(instrument, [&](const std::string&, const auto& point) {
      found =
          metrics_sdk::HistogramPointData(opentelemetry::nostd::get<metrics_sdk::HistogramPointData>(point));
    });
    return found;
  }
  // The spans that have ended since the last time, in the order of their ends.
  std::vector<std::unique_ptr<trace_sdk::SpanData>> all_spans() { return spans_->GetSpans(); }
  // The last of each name.
  std::map<std::string, std::unique_ptr<trace_sdk::SpanData>> spans() {
    std::map<std::string, std::unique_ptr<trace_sdk::SpanData>> found;
    for (auto& span : all_spans()) {
      const std::string name(span->GetName());
      found[name] = std::move(span);
    }
    return found;
  }

  std::shared_ptr<metrics_sdk::MeterProvider> meters = std::make_shared<metrics_sdk::MeterProvider>();
  std::shared_ptr<opentelemetry::trace::TracerProvider> tracers;

 private:
  template <class Visit>
  void visit(const std::string& instrument, Visit see) {
    reader_->Collect([&](metrics_sdk::ResourceMetrics& all) {
      for (const auto& scope : all.scope_metric_data_)
        for (const auto& metric : scope.metric_data_)
          if (scope.scope_->GetName() == scope_ && metric.instrument_descriptor.name_ == instrument)
            for (const auto& point : metric.point_data_attr_) see(labels_of(point), point.point_data);
      return true;
    });
  }
  static std::string labels_of(const metrics_sdk::PointDataAttributes& point) {
    std::string labels;
    for (const auto& [key, value] : point.attributes.GetAttributes())
      labels += (labels.empty() ? "" : " ") + key + "=" + opentelemetry::nostd::get<std::string>(value);
    return labels;
  }

  const std::string scope_;
  const std::shared_ptr<asked_reader> reader_ = std::make_shared<asked_reader>();
  std::shared_ptr<memory::InMemorySpanData> spans_;
};

using numbers = std::map<std::string, std::uint64_t>;

// Prints what differs; the program ends with the number of differences.
inline int failures = 0;

inline void expect(bool holds, std::string_view text) {
  if (holds) return;
  std::cout << "not so: " << text << '\n';
  ++failures;
}

inline void expect_equal(const numbers& is, const numbers& wanted, std::string_view of) {
  if (is == wanted) return;
  ++failures;
  std::cout << "not so: " << of << " is\n";
  for (const auto& [labels, value] : is) std::cout << "  " << labels << ": " << value << '\n';
  std::cout << "and should be\n";
  for (const auto& [labels, value] : wanted) std::cout << "  " << labels << ": " << value << '\n';
}

inline void expect_child(const std::map<std::string, std::unique_ptr<trace_sdk::SpanData>>& of,
                         const char* child, const char* parent) {
  if (!of.contains(child) || !of.contains(parent))
    return expect(false, std::string(child) + " below " + parent);
  const trace_sdk::SpanData& below = *of.at(child);
  const trace_sdk::SpanData& above = *of.at(parent);
  expect(below.GetParentSpanId() == above.GetSpanId() && below.GetTraceId() == above.GetTraceId(),
         std::string(child) + " is a child of " + parent);
}
