// Positions in traces, from one library to the other.
#pragma once

#include "coracle/rpc/trace_context.hpp"

#include <opentelemetry/nostd/span.h>
#include <opentelemetry/nostd/string_view.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/trace_state.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace coracle {

/// Returns the same position for opentelemetry-cpp. `remote`: it came from another process. For spans of the
/// program below that of a call:
///
///   opentelemetry::trace::StartSpanOptions options;
///   if (const auto here = context.trace()) options.parent = coracle::to_opentelemetry(*here);
///   auto span = tracer->StartSpan("load movies", {}, options);
[[nodiscard]] inline ::opentelemetry::trace::SpanContext to_opentelemetry(const trace_context& position,
                                                                          bool remote = false) {
  namespace nostd = ::opentelemetry::nostd;
  namespace trace = ::opentelemetry::trace;
  const trace_context::trace_id& of = position.trace();
  const trace_context::span_id& span = position.span();
  const std::string& state = position.state();
  return trace::SpanContext(trace::TraceId(nostd::span<const std::uint8_t, 16>(of.data(), of.size())),
                            trace::SpanId(nostd::span<const std::uint8_t, 8>(span.data(), span.size())),
                            trace::TraceFlags(position.flags().bits()), remote,
                            state.empty() ? trace::TraceState::GetDefault()
                                          : trace::TraceState::FromHeader({state.data(), state.size()}));
}

/// Returns the same position for Coracle. `position` is valid.
[[nodiscard]] inline trace_context from_opentelemetry(const ::opentelemetry::trace::SpanContext& position) {
  trace_context::trace_id of;
  trace_context::span_id span;
  const auto their_trace = position.trace_id().Id();
  const auto their_span = position.span_id().Id();
  std::copy(their_trace.begin(), their_trace.end(), of.begin());
  std::copy(their_span.begin(), their_span.end(), span.begin());
  trace_flags flags;
  flags.sampled = position.IsSampled();
  flags.random = (position.trace_flags().flags() & 2) != 0;
  return trace_context(of, span, flags, position.trace_state()->ToHeader());
}

}  // namespace coracle
