// retry_instruments: the instruments of retries and hedges (gRFC A96).
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/client/client_observer.hpp"
#include "telemetry/metrics/call_series.hpp"

#include <span>

namespace coracle::telemetry_internal {

// The instruments of retries.
[[nodiscard]] std::span<const instrument* const> retry_instruments() noexcept;

// Measures what a call needed beyond its first attempt. A value of zero is not recorded.
void measure_retries(const observed_call& c, const call_key& key, metrics_sink& to) noexcept;

}  // namespace coracle::telemetry_internal
