// opentelemetry_options: what a bridge to opentelemetry-cpp records, and where.
#pragma once

#include "coracle/base/version.hpp"

#include <opentelemetry/context/propagation/text_map_propagator.h>
#include <opentelemetry/metrics/meter_provider.h>
#include <opentelemetry/trace/tracer_provider.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

namespace coracle {

/// What an opentelemetry_bridge records. A value type: set the members that differ from the defaults.
struct opentelemetry_options {
  /// Where the instruments of gRFC A66 are. Default: none, and nothing is measured.
  std::shared_ptr<::opentelemetry::metrics::MeterProvider> meters;
  /// Where the spans of gRFC A72 are. Default: none, and nothing is traced.
  std::shared_ptr<::opentelemetry::trace::TracerProvider> tracers;
  /// How calls tell the server which trace they belong to. Default: W3C's traceparent and tracestate. Used
  /// with `tracers` only.
  std::shared_ptr<::opentelemetry::context::propagation::TextMapPropagator> propagator;
  /// Instruments that are not reported, by their names, such as "grpc.client.call.duration". Default: none.
  std::set<std::string, std::less<>> disabled;
  /// Whether the target of a channel is reported as grpc.target; the others are "other". Runs once for each
  /// channel, on the thread that makes it. Default: all are.
  std::function<bool(std::string_view target)> reports_target;
  /// Whether the name of a method that no service and no generated stub has is reported as grpc.method; the
  /// others are "other". Clients choose such names: return true for few. Runs on the loops, several at once,
  /// and must not block or throw. Default: none is.
  std::function<bool(std::string_view method)> reports_method;
  /// Whether call_options::telemetry_label is the label grpc.client.call.custom. Default: false.
  bool custom_label = false;
  /// The name and version of the meter and the tracer (instrumentation scope), which views may select.
  std::string scope = "coracle";
  std::string scope_version = version_text;  ///< See scope.
};

}  // namespace coracle
