// arrivals: when the calls of an open loop begin, whatever happened to earlier calls.
#pragma once

#include <coracle/base/clock.hpp>

#include <cstdint>
#include <vector>

namespace coracle::tools::load {

// A piece of the plan: the rate changes linearly from one value to the other.
struct stage {
  double from_per_s = 0;
  double to_per_s = 0;
  duration length{};
};

// The stages run one after the other. The number of calls begun by time t is the area below the rate up to t;
// the first call begins at once.
class arrivals {
 public:
  arrivals() = default;
  explicit arrivals(const std::vector<stage>& stages);

  // The total number of calls.
  [[nodiscard]] std::uint64_t planned() const noexcept { return planned_; }
  [[nodiscard]] duration length() const noexcept;
  // How many calls begin before `t`, relative to the plan's start.
  [[nodiscard]] std::uint64_t before(duration t) const noexcept;
  // When the n-th call begins, relative to the plan's start; n counts from 0, n < planned().
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
