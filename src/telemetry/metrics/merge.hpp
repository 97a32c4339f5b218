// merge: sums up what the loops have measured.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"
#include "telemetry/loop_part.hpp"
#include "telemetry/metrics/selection.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// A gauge of the user, with its value.
struct read_gauge {
  const instrument* by;
  double value;
};

// Takes some time: not for a loop. Throws std::bad_alloc.
[[nodiscard]] metrics_snapshot merge(std::vector<loop_copy> parts, const std::vector<read_gauge>& gauges,
                                     const selection& what, std::chrono::system_clock::time_point now);

}  // namespace coracle::telemetry_internal
