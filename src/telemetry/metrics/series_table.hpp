// series_table: the time series of one loop, apart from those of calls.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/telemetry/metrics_snapshot.hpp"
#include "telemetry/metrics/exponential_histogram.hpp"
#include "telemetry/metrics/selection.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// What one list of label values has measured. A value.
struct series {
  std::vector<std::pair<std::string, std::string>> labels;
  std::chrono::system_clock::time_point start{};
  double value = 0;  // a sum, or the latest value
  std::uint64_t set_at = 0;  // of a gauge: the number of the measurement that set it, to find the latest
  // Of a histogram: counts by bucket, or an exponential histogram.
  std::vector<std::uint64_t> buckets;
  std::unique_ptr<exponential_histogram> exponential;

  series() = default;
  series(const series& o)
      : labels(o.labels),
        start(o.start),
        value(o.value),
        set_at(o.set_at),
        buckets(o.buckets),
        exponential(o.exponential ? std::make_unique<exponential_histogram>(*o.exponential) : nullptr) {}
  series& operator=(const series&) = delete;
  series(series&&) noexcept = default;
  series& operator=(series&&) noexcept = default;
};

// For one loop, which also copies it for others.
class series_table {
 public:
  series_table(const selection& what, std::size_t series_max, bool exponential) noexcept
      : what_(what), series_max_(series_max), exponential_(exponential) {}

  // Takes a measurement that was made at `now`. Throws std::bad_alloc.
  void measure(const instrument& by, double value, std::span<const std::string_view> values,
               std::chrono::system_clock::time_point now);
  // Returns how many measurements were counted in the series for what exceeds the limit.
  [[nodiscard]] std::uint64_t folded() const noexcept { return folded_; }

  struct copy {
    const instrument* by;
    std::vector<series> all;
  };
  // Throws std::bad_alloc.
  [[nodiscard]] std::vector<copy> copies() const;

 private:
  struct group {
    bool reported = false;
    std::vector<bool> kept;  // by label: whether it is reported
    std::unordered_map<std::string, series> all;  // by the values of the labels, each after its size
  };
  group& group_of(const instrument& by);
  series& find(group& g, const instrument& by, std::span<const std::string_view> values,
               std::chrono::system_clock::time_point now);

  const selection& what_;
  const std::size_t series_max_;
  const bool exponential_;
  std::uint64_t folded_ = 0;
  std::uint64_t sets_ = 0;
  std::string key_;  // kept, so that a known series costs no allocation
  std::unordered_map<const instrument*, group> groups_;
};

}  // namespace coracle::telemetry_internal
