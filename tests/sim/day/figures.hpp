// figures: what a day of the fleet measures, by second and layer.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::day {

inline constexpr std::size_t layers = 5;

// Latencies in steps of 10 %, from 1 ms to 13 s.
class latency_steps {
 public:
  void add(duration latency) noexcept;
  void add(const latency_steps& others) noexcept;
  // In milliseconds; 0 if there is none. share: 0.99 for the 99th percentile.
  [[nodiscard]] double percentile(double share) const noexcept;

 private:
  static constexpr std::size_t steps = 100;
  std::array<std::uint32_t, steps> counts_{};
  std::uint32_t all_ = 0;
};

// The calls of a layer that began in one second, as their callers saw them: the attempts of a retry policy
// are one call. Those of layer 0 are the requests of users.
struct cell {
  std::uint32_t offered = 0;
  std::uint32_t good = 0;
  std::uint32_t refused = 0;  // UNAVAILABLE or RESOURCE_EXHAUSTED
  std::uint32_t late = 0;  // DEADLINE_EXCEEDED
  std::uint32_t other = 0;
  latency_steps latency;  // of good ones

  void count(const status& outcome, duration took) noexcept;
};

class figures {
 public:
  explicit figures(std::size_t seconds) : cells_(seconds), capacity_(seconds) {}

  [[nodiscard]] std::size_t seconds() const noexcept { return cells_.size(); }
  void begin_at(time_point start) noexcept { start_ = start; }
  // Null before the first second and after the last.
  [[nodiscard]] cell* at(std::size_t layer, time_point began) noexcept;
  [[nodiscard]] const cell& at(std::size_t layer, std::size_t second) const noexcept {
    return cells_[second][layer];
  }
  // Adds what a layer can do in a part of a second, in calls.
  void add_capacity(std::size_t layer, time_point when, double calls) noexcept;
  // What the capacity allows of the requests of a second: no layer can serve more than it has workers for.
  [[nodiscard]] double allowed(std::size_t second) const noexcept;
  [[nodiscard]] double capacity(std::size_t second) const noexcept;

 private:
  [[nodiscard]] std::size_t second_of(time_point t) const noexcept;

  std::vector<std::array<cell, layers>> cells_;
  std::vector<std::array<double, layers>> capacity_;
  time_point start_{};
};

}  // namespace coracle::day
