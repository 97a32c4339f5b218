// encode_metrics: snapshots as messages of opentelemetry.proto.metrics.v1.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "telemetry/otlp/delta_baseline.hpp"
#include "telemetry/otlp/requests.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal {

// The export requests of a snapshot.
struct metrics_batch {
  // Which point of the snapshot an item of a request is.
  struct point {
    const metric_family* family;
    const metric_point* total;
  };
  std::vector<export_request> requests;
  std::vector<point> points;  // in the order of the requests; refer to the snapshot
  std::size_t too_large = 0;  // points that fit into no request
};

// `s` must outlive the result. Points of delta temporality without a difference are left out.
[[nodiscard]] metrics_batch encode_metrics(const metrics_snapshot& s, otlp_temporality preference,
                                           const delta_baseline& before, std::string_view resource,
                                           std::size_t request_bytes_max);

}  // namespace coracle::telemetry_internal
