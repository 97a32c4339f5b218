// certificate_instruments: until when the certificates of servers and channels are valid.
#pragma once

#include "coracle/base/metrics.hpp"
#include "telemetry/used_certificates.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace coracle::telemetry_internal {

[[nodiscard]] std::span<const instrument* const> certificate_instruments() noexcept;

// Of certificates with one subject on one side, the first to expire counts. Throws std::bad_alloc.
void report_certificates(const std::vector<used_credentials>& all, std::chrono::system_clock::time_point now,
                         metrics_sink& to);

}  // namespace coracle::telemetry_internal
