// bridge_core: the instruments and the tracer of a bridge.
#pragma once

#include "coracle/opentelemetry/call_instruments.hpp"
#include "coracle/opentelemetry/options.hpp"

#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/propagation/http_trace_context.h>
#include <opentelemetry/trace/tracer.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::opentelemetry_internal {

inline constexpr std::string_view other = "other";

// Shared by the observers of a bridge; never changes. Any thread.
struct bridge_core {
  explicit bridge_core(opentelemetry_options o) : options(std::move(o)) {
    if (options.meters) {
      meter = options.meters->GetMeter(options.scope, options.scope_version);
      served.emplace(*meter, options.disabled, "grpc.server.call", "{call}");
      attempts.emplace(*meter, options.disabled, "grpc.client.attempt", "{attempt}");
      if (const std::string name = "grpc.client.call.duration"; !options.disabled.contains(name))
        call_duration = meter->CreateDoubleHistogram(name, "Of whole calls, with all attempts.", "s");
    }
    if (options.tracers) {
      tracer = options.tracers->GetTracer(options.scope, options.scope_version);
      if (!options.propagator)
        options.propagator = std::make_shared<::opentelemetry::trace::propagation::HttpTraceContext>();
    }
  }
  // The value of grpc.method.
  [[nodiscard]] std::string_view label_of(std::string_view method, bool registered) const noexcept {
    return registered || (options.reports_method && options.reports_method(method)) ? method : other;
  }
  // The context of the trace that metadata name; one without a span if they name none.
  [[nodiscard]] ::opentelemetry::context::Context extract(const metadata& from) const noexcept {
    ::opentelemetry::context::Context none;
    return options.propagator->Extract(metadata_carrier(from), none);
  }

  opentelemetry_options options;
  nostd::shared_ptr<::opentelemetry::metrics::Meter> meter;
  std::optional<call_instruments> served;
  std::optional<call_instruments> attempts;
  nostd::unique_ptr<::opentelemetry::metrics::Histogram<double>> call_duration;
  nostd::shared_ptr<::opentelemetry::trace::Tracer> tracer;  // null: no traces
};

}  // namespace coracle::opentelemetry_internal
