// latency_histogram: a compact histogram of durations.
#pragma once

#include <coracle/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::tools::load {

// The bucket width is 1/64 of a power of two of nanoseconds, so that a quantile is at most 1.6 % above the
// true one; count, min, max and mean are exact. Only the buckets between the lowest and the highest value are
// stored, since there is a histogram for each second of a run.
class latency_histogram {
 public:
  // A negative duration counts as zero.
  void add(duration d);
  void add_all(const latency_histogram& other);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  // This and the following are zero if the histogram is empty.
  [[nodiscard]] duration min() const noexcept { return duration(count_ == 0 ? 0 : min_ns_); }
  [[nodiscard]] duration max() const noexcept { return duration(max_ns_); }
  [[nodiscard]] duration mean() const noexcept;
  // The smallest duration that a share of q of all durations do not exceed; 0 <= q <= 1.
  [[nodiscard]] duration quantile(double q) const noexcept;

  struct place {
    duration upto;  // inclusive
    std::uint64_t count;
  };
  // The buckets that are not empty, in ascending order.
  [[nodiscard]] std::vector<place> places() const;

 private:
  void reach(std::size_t lowest, std::size_t highest);
  std::vector<std::uint64_t> counts_;
  std::size_t first_ = 0;  // the bucket of counts_[0]
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  std::int64_t min_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace coracle::tools::load
