// cost_instruments: what the measured calls of servers cost, by method.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/rpc/call_cost.hpp"

#include <span>
#include <string_view>

namespace coracle::telemetry_internal {

// The instruments of costs: counters, whose quotients are averages. Histograms would double the series of a
// method.
[[nodiscard]] std::span<const instrument* const> cost_instruments() noexcept;

// Measures the cost of a call that has ended.
void measure_cost(const call_cost& c, std::string_view method, metrics_sink& to) noexcept;

}  // namespace coracle::telemetry_internal
