// expectation: a criterion that a run has to meet: "p99<20ms", "errors<0.1%", "rate>1000".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tools::load {

struct results;

// Compares a measurement with a limit by <, <=, > or >=. The measurements are:
//
//   p50, p99.9, ...       a percentile of the calls that ended with OK, as a time with its unit
//   min, mean, max        of the same calls, also as times
//   errors                the failed calls, as a number or, with %, as a share of all calls
//   rate                  calls per second that ended with OK
class expectation {
 public:
  // Throws usage_failure, which says what is invalid.
  explicit expectation(std::string_view text);

  struct verdict {
    std::string expected;  // as it was written
    std::string found;
    bool met;
  };
  // Without a call that ended with OK, no expectation about a time is met.
  [[nodiscard]] verdict judge(const results& r) const;

 private:
  enum class measure : std::uint8_t { quantile, min, mean, max, error_count, error_share, rate };
  enum class comparison : std::uint8_t { less, at_most, more, at_least };
  [[nodiscard]] double found_in(const results& r) const;
  [[nodiscard]] bool holds(double found) const noexcept;
  [[nodiscard]] std::string format(double found) const;

  std::string text_;
  measure measure_ = measure::rate;
  comparison comparison_ = comparison::less;
  double quantile_ = 0;
  double limit_ = 0;  // ns, calls, a share of 1, or calls per second
};

}  // namespace coracle::tools::load
