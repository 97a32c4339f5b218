// policy_problems: which parameters balancing policies refuse.
#pragma once

#include "coracle/client/balancing_options.hpp"

#include <string_view>

namespace coracle::client {

// Returns what is wrong, and how to fix it; empty: nothing.
[[nodiscard]] std::string_view problem_of(const slow_start_options& o) noexcept;
[[nodiscard]] std::string_view problem_of(const weighted_round_robin_options& o) noexcept;
[[nodiscard]] std::string_view problem_of(const ring_hash_options& o) noexcept;
[[nodiscard]] std::string_view problem_of(const outlier_detection_options& o) noexcept;

}  // namespace coracle::client
