#include "client/balancing/slow_start.hpp"

#include "client/balancing/subchannel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace coracle::client {

double slow_start::factor(duration since_ready) const noexcept {
  using seconds = std::chrono::duration<double>;
  const double passed = std::max(seconds(since_ready).count(), 1.0) / seconds(options_.window).count();
  return std::max(options_.min_weight_percent / 100, std::pow(passed, 1 / options_.aggression));
}

bool slow_start::reduce(std::span<const pick_candidate> ready, std::vector<double>& weights,
                        time_point now) const {
  const auto since_ready = [&](const pick_candidate& c) { return now - c.at_->ready_since(); };
  const bool any =
      std::ranges::any_of(ready, [&](const pick_candidate& c) { return since_ready(c) < options_.window; });
  if (!any) return false;
  double sum = 0;
  double known = 0;
  for (const double w : weights) {
    sum += w;
    known += w > 0;
  }
  const double mean = known > 0 ? sum / known : 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) weights[i] = mean;
    const duration since = since_ready(ready[i]);
    if (since < options_.window) weights[i] *= std::min(factor(since), 1.0);
  }
  return true;
}

}  // namespace coracle::client
