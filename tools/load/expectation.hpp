// expectation: what a run has to reach: "p99<20ms", "errors<0.1%", "rate>1000".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tools::load {

struct results;

// Left of <, <=, > or >= stands what is measured:
//
//   p50, p99.9, ...       a percentile of the calls that ended well, in a time with its unit
//   min, mean, max        of the same, likewise
//   errors                how many calls failed, as a number or, with %, as a share of all
//   rate                  calls that ended well, a second
class expectation {
 public:
  // Throws usage_failure, which says what was not understood.
  explicit expectation(std::string_view text);

  struct verdict {
    std::string expected;  // as it was written
    std::string found;
    bool met;
  };
  // Without a call that ended well no time is met.
  [[nodiscard]] verdict judge(const results& r) const;

 private:
  enum class measure : std::uint8_t { quantile, min, mean, max, error_count, error_share, rate };
  enum class comparison : std::uint8_t { less, at_most, more, at_least };
  [[nodiscard]] double found_in(const results& r) const;
  [[nodiscard]] bool holds(double found) const noexcept;
  [[nodiscard]] std::string shown(double found) const;

  std::string text_;
  measure what_ = measure::rate;
  comparison how_ = comparison::less;
  double quantile_ = 0;
  double limit_ = 0;  // ns, calls, a share of 1, or calls a second
};

}  // namespace coracle::tools::load
