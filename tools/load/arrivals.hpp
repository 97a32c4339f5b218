// arrivals: when the calls of an open loop are to begin, whatever has become of those before.
#pragma once

#include <coracle/base/clock.hpp>

#include <cstdint>
#include <vector>

namespace coracle::tools::load {

// A piece of the plan: the rate goes evenly from one to the other.
struct stage {
  double from_per_s = 0;
  double to_per_s = 0;
  duration length{};
};

// One stage after the other. By the time t as many calls are to have begun as the area below the rate up to t says,
// the first of them at once.
class arrivals {
 public:
  arrivals() = default;
  explicit arrivals(const std::vector<stage>& stages);

  // In all.
  [[nodiscard]] std::uint64_t planned() const noexcept { return planned_; }
  [[nodiscard]] duration length() const noexcept;
  // When the n-th begins, from the plan's start; n < planned(), from 0.
  [[nodiscard]] duration at(std::uint64_t n) const noexcept;

 private:
  struct piece {
    double from_per_s;
    double to_per_s;
    double begins_s;
    double length_s;
    double calls_before;
  };
  std::vector<piece> pieces_;
  std::uint64_t planned_ = 0;
};

}  // namespace coracle::tools::load
