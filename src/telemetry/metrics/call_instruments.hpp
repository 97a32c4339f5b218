// call_instruments: the instruments of calls (gRFC A66), made from the series of methods.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/telemetry/metrics_snapshot.hpp"
#include "telemetry/metrics/call_series.hpp"
#include "telemetry/metrics/selection.hpp"

#include <span>
#include <vector>

namespace coracle::telemetry_internal {

// The instruments of calls.
[[nodiscard]] std::span<const instrument* const> call_instruments() noexcept;

// Returns an empty family of an instrument.
[[nodiscard]] metric_family family_of(const instrument& by);

// Adds the families of the instruments that are reported and have points.
void add_call_families(const std::vector<const method_calls*>& calls, const selection& what,
                       metrics_snapshot& to);

}  // namespace coracle::telemetry_internal
