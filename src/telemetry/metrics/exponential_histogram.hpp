// exponential_histogram: counts of values in buckets whose bounds grow exponentially (OpenTelemetry, base 2).
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>

namespace coracle::telemetry_internal {

// For values that are not negative, as all durations and sizes are; a negative value counts as zero. A bucket
// with the index i holds (base^i, base^(i+1)] with base = 2^(2^-scale). The scale begins at the finest, and
// halves the number of buckets when the values need more than there may be.
class exponential_histogram {
 public:
  static constexpr std::size_t buckets_max = 160;  // the default of OpenTelemetry's specification
  static constexpr std::int32_t scale_max = 20;

  // Throws std::bad_alloc.
  void add(double value) { add(value, 1); }
  void add(const exponential_histogram& o);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] exponential_buckets data() const;

 private:
  void add(double value, std::uint64_t times);
  void add_at(std::int32_t index, std::uint64_t times);
  void lower_scale(std::int32_t by);

  std::int32_t scale_ = scale_max;
  std::int32_t offset_ = 0;
  std::deque<std::uint64_t> counts_;
  std::uint64_t zeros_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace coracle::telemetry_internal
