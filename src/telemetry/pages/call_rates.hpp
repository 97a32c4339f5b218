// call_rates: what the methods of a server did between two samples: rates, errors and latencies.
#pragma once

#include "telemetry/pages/page_history.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace coracle::telemetry_internal {

// The calls of one method, or of all.
struct call_rates {
  std::uint64_t started = 0;  // since the telemetry began
  std::uint64_t ended = 0;
  std::uint64_t failed = 0;  // of those that ended: with another status than OK
  double started_per_s = 0;  // between the samples
  double ended_per_s = 0;
  double failed_per_s = 0;
  std::vector<double> bounds_s;  // of the buckets of latencies
  std::vector<std::uint64_t> buckets;  // calls that ended between the samples
  void add(const call_rates& other);
  // Estimates the latency that a part of the calls did not exceed: 0.5 is the median. None without calls, and
  // with exponential histograms.
  [[nodiscard]] std::optional<double> latency_s(double part) const;
};

// By method.
[[nodiscard]] std::map<std::string, call_rates> rates_of_methods(const sample_pair& samples);

}  // namespace coracle::telemetry_internal
