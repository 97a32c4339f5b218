// trace_bin_propagator: the position in a trace as grpc-trace-bin (gRFC A72).
#pragma once

#include "coracle/opentelemetry/metadata_carrier.hpp"
#include "coracle/opentelemetry/trace_contexts.hpp"

#include <opentelemetry/context/context.h>
#include <opentelemetry/context/propagation/text_map_propagator.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/default_span.h>

#include <new>
#include <string>

namespace coracle {

/// Sends and reads the metadata grpc-trace-bin, as programs with OpenCensus and older gRPC do. It has no
/// tracestate. Its values are bytes: give it to opentelemetry_options::propagator only, alone or in a
/// CompositePropagator.
class trace_bin_propagator final : public ::opentelemetry::context::propagation::TextMapPropagator {
 public:
  /// Returns the context with the span that the carrier names; `context` if it names none.
  ::opentelemetry::context::Context Extract(
      const ::opentelemetry::context::propagation::TextMapCarrier& carrier,
      ::opentelemetry::context::Context& context) noexcept override {
    namespace trace = ::opentelemetry::trace;
    try {
      const auto found = trace_context::parse_binary(opentelemetry_internal::text(carrier.Get(key)));
      if (!found) return context;
      const ::opentelemetry::nostd::shared_ptr<trace::Span> caller(
          new trace::DefaultSpan(to_opentelemetry(*found, true)));
      return trace::SetSpan(context, caller);
    } catch (const std::bad_alloc&) {
      return context;
    }
  }
  /// Names the span of the context, if it has one.
  void Inject(::opentelemetry::context::propagation::TextMapCarrier& carrier,
              const ::opentelemetry::context::Context& context) noexcept override {
    const auto here = ::opentelemetry::trace::GetSpan(context)->GetContext();
    if (!here.IsValid()) return;
    try {
      carrier.Set(key, from_opentelemetry(here).binary());
    } catch (const std::bad_alloc&) {
    }
  }
  /// Passes the one key.
  bool Fields(::opentelemetry::nostd::function_ref<bool(::opentelemetry::nostd::string_view)> visit)
      const noexcept override {
    return visit(key);
  }

 private:
  static constexpr const char* key = "grpc-trace-bin";
};

}  // namespace coracle
