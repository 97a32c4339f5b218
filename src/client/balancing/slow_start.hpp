// slow_start: the share of calls of servers that have just become READY, which grows (gRFC A100).
#pragma once

#include "coracle/client/balancing_options.hpp"
#include "coracle/client/pick_policy.hpp"

#include <span>
#include <vector>

namespace coracle::client {

class slow_start {
 public:
  explicit slow_start(const slow_start_options& options) noexcept : options_(options) {}

  // Reduces the weights of the servers that have been READY for less than the window, in the order of
  // `ready`; 0, an unknown weight, counts as the mean of the others. Returns whether there are such servers.
  bool reduce(std::span<const pick_candidate> ready, std::vector<double>& weights, time_point now) const;

 private:
  [[nodiscard]] double factor(duration since_ready) const noexcept;

  const slow_start_options options_;
};

}  // namespace coracle::client
