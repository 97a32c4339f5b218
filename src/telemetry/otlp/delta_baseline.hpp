// delta_baseline: what a collector has already got, for exports with delta temporality.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "telemetry/otlp/wire.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// AggregationTemporality.
enum class aggregation : std::uint8_t { none = 0, delta = 1, cumulative = 2 };

// The aggregation that a preference means for a family.
[[nodiscard]] aggregation aggregation_of(const metric_family& f, otlp_temporality preference) noexcept;

// Turns totals into what has come since the last delivery. A point that was not delivered is part of the next
// difference, so that an outage of the collector loses nothing.
class delta_baseline {
 public:
  // The point to send: `now` less what was delivered, beginning when that was measured. Nothing, if nothing
  // has come.
  [[nodiscard]] std::optional<metric_point> since(const metric_family& of, const metric_point& now) const;
  // The collector has got the total `now`, which was measured at `at`.
  void delivered(const metric_family& of, const metric_point& now, wall_time at);

 private:
  struct total {
    wall_time at{};
    double value = 0;
    std::optional<histogram_data> histogram;
  };
  static std::string key_of(const metric_family& of, const metric_point& p);
  std::unordered_map<std::string, total> totals_;  // bounded as the series of the snapshot are
};

}  // namespace coracle::telemetry_internal
