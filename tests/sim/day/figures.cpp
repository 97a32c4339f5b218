#include "sim/day/figures.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace coracle::day {

void latency_steps::add(duration latency) noexcept {
  const double ms = std::chrono::duration<double, std::milli>(latency).count();
  const double step = ms <= 1 ? 0 : std::log(ms) / std::log(1.1);
  ++counts_[std::min(static_cast<std::size_t>(step), steps - 1)];
  ++all_;
}

void latency_steps::add(const latency_steps& others) noexcept {
  for (std::size_t i = 0; i < steps; ++i) counts_[i] += others.counts_[i];
  all_ += others.all_;
}

double latency_steps::percentile(double share) const noexcept {
  std::uint32_t below = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    below += counts_[i];
    if (below > 0 && below >= share * all_) return std::pow(1.1, static_cast<double>(i) + 0.5);
  }
  return 0;
}

void cell::count(const status& outcome, duration took) noexcept {
  ++offered;
  switch (outcome.code()) {
    case status_code::ok:
      ++good;
      latency.add(took);
      break;
    case status_code::unavailable:
    case status_code::resource_exhausted: ++refused; break;
    case status_code::deadline_exceeded: ++late; break;
    default: ++other; break;
  }
}

std::size_t figures::second_of(time_point t) const noexcept {
  if (t < start_) return seconds();
  return static_cast<std::size_t>((t - start_) / std::chrono::seconds(1));
}

cell* figures::at(std::size_t layer, time_point began) noexcept {
  const std::size_t second = second_of(began);
  return second < seconds() ? &cells_[second][layer] : nullptr;
}

void figures::add_capacity(std::size_t layer, time_point when, double calls) noexcept {
  const std::size_t second = second_of(when);
  if (second < seconds()) capacity_[second][layer] += calls;
}

double figures::capacity(std::size_t second) const noexcept {
  return *std::min_element(capacity_[second].begin(), capacity_[second].end());
}

double figures::allowed(std::size_t second) const noexcept {
  return std::min(capacity(second), static_cast<double>(at(0, second).offered));
}

}  // namespace coracle::day
