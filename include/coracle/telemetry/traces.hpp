// traces: how the telemetry of a runtime records traces.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/telemetry/finished_span.hpp"
#include "coracle/telemetry/sampler.hpp"

#include <optional>
#include <string_view>
#include <type_traits>

namespace coracle {

/// The forms in which the position of a call in its trace travels as metadata. Baggage is always passed on.
struct propagator_set {
  bool w3c = true;  ///< traceparent and tracestate (W3C Trace Context)
  bool b3 = false;  ///< b3 in one header
  bool b3_multi = false;  ///< b3 in several headers: x-b3-traceid and others
  /// grpc-trace-bin, the form of OpenCensus. Calls of handlers have it in any case if the call to the
  /// handler had it.
  bool grpc_trace_bin = false;

  /// Returns the set that the value of OTEL_PROPAGATORS names: tracecontext, b3, b3multi, grpc-trace-bin,
  /// and baggage and none, separated by commas. Returns INVALID_ARGUMENT for other names.
  static result<propagator_set> parse(std::string_view names);
};

/// Which names attributes have (semantic conventions of OpenTelemetry for RPC), and which server spans are
/// errors.
enum class rpc_conventions : unsigned char {
  /// The new attributes; every status but OK is an error, as gRFC A72 says. The default.
  grpc,
  /// The new attributes; on servers, a status that the client has caused (NOT_FOUND, say) is no error.
  stable,
  /// As `stable`, with the older attributes beside the new ones.
  both,
};

/// How a runtime records traces (gRFC A72). A value type: set the members that differ from the defaults.
class trace_options {
 public:
  /// All defaults.
  trace_options() noexcept {}
  /// Decides which traces are recorded. Default: what OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG say, or
  /// else parent_based(always_on()).
  std::optional<sampler> sample;
  /// Default: what OTEL_PROPAGATORS says, or else W3C.
  std::optional<propagator_set> propagators;
  /// Default: `stable` if OTEL_SEMCONV_STABILITY_OPT_IN contains `rpc`, `both` if it contains `rpc/dup`,
  /// else `grpc`.
  std::optional<rpc_conventions> conventions;
  /// What a span holds at most. Default: what OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, OTEL_SPAN_EVENT_COUNT_LIMIT,
  /// OTEL_SPAN_LINK_COUNT_LIMIT and OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT say, or else span_limits().
  std::optional<span_limits> limits;
  /// Records calls that were not sampled, too, if they take at least this long. The decision falls when the
  /// call ends, so such a span has neither events nor children, and other programs do not record the trace.
  /// Default: none.
  duration keep_slower_than = duration::max();
  /// The same for calls that end with a status that is an error. Default: false.
  bool keep_errors = false;
  /// The maximum number of calls that keep_slower_than and keep_errors record in a second on each loop.
  /// Default: 10.
  unsigned kept_per_second = 10;
};
static_assert(!std::is_aggregate_v<trace_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
