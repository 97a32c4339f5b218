// trace_rules: what trace_options say, for all loops of a runtime.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/telemetry/traces.hpp"
#include "telemetry/traces/propagation.hpp"

#include <functional>
#include <string_view>

namespace coracle::telemetry_internal {

// Constant.
struct trace_rules {
  // Reads the environment variables of OpenTelemetry for what the options leave open. Logs values that are
  // not valid, and uses the default instead, as OpenTelemetry's specification says.
  trace_rules(const trace_options& o, logger& log);

  sampler sample;
  propagation by;
  rpc_conventions conventions;
  span_limits limits;
  duration keep_slower_than;
  bool keep_errors;
  unsigned kept_per_second;
  // Whether keep_slower_than or keep_errors apply.
  bool keeps_late;
};

// Returns the limits that the variables say, each the default if it is not set or not valid, which is logged.
[[nodiscard]] span_limits span_limits_of(const std::function<const char*(const char*)>& get, logger& log);
// Returns what the value of OTEL_SEMCONV_STABILITY_OPT_IN says about RPC.
[[nodiscard]] rpc_conventions conventions_of(std::string_view opt_in) noexcept;

}  // namespace coracle::telemetry_internal
