// loop_instruments: what the loops of a runtime report about themselves.
#pragma once

#include "coracle/base/metrics.hpp"
#include "telemetry/metrics/selection.hpp"
#include "telemetry/metrics/series_table.hpp"

#include <chrono>
#include <span>

namespace coracle {
class loop;
}

namespace coracle::telemetry_internal {

// The instruments of loops.
[[nodiscard]] std::span<const instrument* const> loop_instruments() noexcept;

// Reports the counters of loop::stats(), and stalls. On the loop.
void report_loop(const loop& l, metrics_sink& to) noexcept;
// Returns how long the iterations of a loop took since `start`. A sink takes single values; this is a whole
// histogram. On the loop. Throws std::bad_alloc.
[[nodiscard]] series_table::copy iterations_of(const loop& l, const selection& what,
                                               std::chrono::system_clock::time_point start);

}  // namespace coracle::telemetry_internal
