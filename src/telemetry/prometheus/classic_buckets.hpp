// classic_buckets: the counts of an exponential histogram in buckets with fixed bounds, for formats without
// such histograms.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace coracle::telemetry_internal::prometheus {

// The maximum number of buckets, without that of zero and that above the last bound.
inline constexpr std::size_t converted_buckets_max = 64;

// Returns zero and powers of the square root of 2, or of 2, which span the bounds that the instrument has.
// They depend on the instrument alone: a bucket that appeared or vanished between two scrapes would break the
// rates that Prometheus computes. At most converted_buckets_max + 1 of them.
[[nodiscard]] std::vector<double> converted_bounds(std::span<const double> of_instrument);

// Returns how many values lie in each bucket, and above the last bound. It is exact where the bounds of the
// exponential buckets include the powers above, which is so while the values lie within a factor of 2^80 of
// each other; beyond it, a count goes to the next higher bucket.
[[nodiscard]] std::vector<std::uint64_t> converted_counts(const exponential_buckets& from,
                                                          std::span<const double> bounds);

}  // namespace coracle::telemetry_internal::prometheus
