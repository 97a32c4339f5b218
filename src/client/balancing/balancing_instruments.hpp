// balancing_instruments: what balancing policies measure (gRFC A78, A91).
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/client/server_labels.hpp"

#include <span>
#include <string_view>

namespace coracle::client {

[[nodiscard]] std::span<const instrument* const> balancing_instruments() noexcept;

// Of weighted_round_robin, on a loop.
void measure_weight(std::string_view target, const server_labels& of, double weight) noexcept;
void measure_weight_not_yet_usable(std::string_view target, const server_labels& of) noexcept;
void measure_weight_stale(std::string_view target, const server_labels& of) noexcept;
void measure_round_robin_fallback(std::string_view target, const server_labels& of) noexcept;

// Of outlier_detection, on a loop. method: "success_rate" or "failure_percentage".
void measure_ejection(std::string_view target, std::string_view service, std::string_view method) noexcept;
// reason: "enforcement_percentage" or "max_ejection_overflow".
void measure_unenforced_ejection(std::string_view target, std::string_view service, std::string_view method,
                                 std::string_view reason) noexcept;

}  // namespace coracle::client
