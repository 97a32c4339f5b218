// retry_instruments: the instruments of retries and hedges (gRFC A96).
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/client/client_observer.hpp"
#include "telemetry/metrics/call_series.hpp"

namespace coracle::telemetry_internal {

// Measures what a call needed beyond its first attempt. A value of zero is not recorded.
void measure_retries(const observed_call& c, const call_key& key, metrics_sink& to) noexcept;

}  // namespace coracle::telemetry_internal
