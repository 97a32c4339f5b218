// certificates_page: the certificates of servers and channels, for the pages of operators.
#pragma once

#include "services/json_text.hpp"
#include "telemetry/used_certificates.hpp"

#include <chrono>
#include <cstddef>
#include <vector>

namespace coracle::telemetry_internal {

// The maximum of one answer; it says how many there are.
inline constexpr std::size_t listed_credentials_max = 100;

// The JSON of the page.
[[nodiscard]] services::ordered_json certificates_json(const std::vector<used_credentials>& all,
                                                       std::chrono::system_clock::time_point now);

}  // namespace coracle::telemetry_internal
