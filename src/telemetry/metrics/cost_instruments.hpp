// cost_instruments: what the measured calls of servers cost, by method.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/telemetry/metrics_snapshot.hpp"
#include "telemetry/metrics/call_series.hpp"
#include "telemetry/metrics/selection.hpp"

#include <span>
#include <vector>

namespace coracle::telemetry_internal {

// The instruments of costs: counters, whose quotients are averages. Histograms would double the series of a
// method.
[[nodiscard]] std::span<const instrument* const> cost_instruments() noexcept;

// Adds the families of the instruments that are reported, if there are measured calls.
void add_cost_families(const std::vector<const method_calls*>& calls, const selection& what,
                       metrics_snapshot& to);

}  // namespace coracle::telemetry_internal
