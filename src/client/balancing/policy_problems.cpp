#include "client/balancing/policy_problems.hpp"

#include "protocol/grpc/wire_metadata.hpp"

#include <cmath>

namespace coracle::client {

std::string_view problem_of(const slow_start_options& o) noexcept {
  if (o.window <= duration::zero()) return "slowStartWindow must be more than 0";
  if (!(o.aggression > 0) || std::isinf(o.aggression))
    return "aggression of a slow start must be more than 0";
  if (!(o.min_weight_percent >= 0 && o.min_weight_percent <= 100))
    return "minWeightPercent of a slow start must be from 0 to 100";
  return {};
}

std::string_view problem_of(const weighted_round_robin_options& o) noexcept {
  if (!(o.error_utilization_penalty >= 0) || std::isinf(o.error_utilization_penalty))
    return "errorUtilizationPenalty of weighted_round_robin must be a number from 0 on";
  if (o.metric_names_for_computing_utilization.size() > weighted_round_robin_options::metric_names_limit)
    return "metricNamesForComputingUtilization of weighted_round_robin must have at most 64 names";
  if (o.slow_start) return problem_of(*o.slow_start);
  return {};
}

std::string_view problem_of(const ring_hash_options& o) noexcept {
  if (o.min_ring_size == 0) return "minRingSize of ring_hash must be at least 1";
  constexpr std::uint32_t size_max = 8u << 20;  // gRFC A42
  if (o.max_ring_size > size_max) return "maxRingSize of ring_hash must be at most 8388608";
  if (o.min_ring_size > o.max_ring_size) return "minRingSize of ring_hash must not be above maxRingSize";
  const std::string_view name = o.request_hash_header;
  if (!name.empty() && (!protocol::grpc::is_valid_key(name) || name.ends_with("-bin")))
    return "requestHashHeader of ring_hash must be a name of text metadata: a-z, 0-9, '_', '-' and '.', "
           "without "
           "\"-bin\" at its end";
  return {};
}

std::string_view problem_of(const outlier_detection_options& o) noexcept {
  if (o.interval < duration::zero() || o.base_ejection_time < duration::zero() ||
      o.max_ejection_time < duration::zero())
    return "the times of outlier_detection must not be negative";
  if (o.max_ejection_percent > 100) return "maxEjectionPercent of outlier_detection must be at most 100";
  if (o.success_rate_ejection && o.success_rate_ejection->enforcement_percentage > 100)
    return "enforcementPercentage of outlier_detection must be at most 100";
  if (o.failure_percentage_ejection && (o.failure_percentage_ejection->enforcement_percentage > 100 ||
                                        o.failure_percentage_ejection->threshold > 100))
    return "threshold and enforcementPercentage of outlier_detection must be at most 100";
  return {};
}

}  // namespace coracle::client
