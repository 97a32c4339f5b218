// loop_instruments: what the loops of a runtime report about themselves.
#pragma once

#include "coracle/base/metrics.hpp"

#include <span>

namespace coracle {
class loop;
}

namespace coracle::telemetry_internal {

// The instruments of loops.
[[nodiscard]] std::span<const instrument* const> loop_instruments() noexcept;

// Reports the counters of loop::stats(). On the loop.
void report_loop(const loop& l, metrics_sink& to) noexcept;

}  // namespace coracle::telemetry_internal
