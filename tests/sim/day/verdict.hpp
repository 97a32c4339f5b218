// verdict: whether a fleet has kept what its capacity allows.
#pragma once

#include "sim/day/figures.hpp"
#include "sim/day/plan.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace coracle::day {

struct verdict {
  // The lowest goodput of any window, as a share of what the capacity allows, except while a cause is new.
  double lowest = 1;
  std::size_t lowest_at = 0;  // its first second
  // The same while a cause is new, by event.
  std::array<double, events_all> lowest_at_first{};
  // How long after the end of a cause windows below `goodput_min` end, in seconds.
  std::array<std::size_t, events_all> recovery{};
  double whole_day = 0;
};

// Goodput is judged in windows of this length.
inline constexpr std::size_t window_seconds = 5;
// A cause is new for this time after its beginning: callers must find out about it first.
inline constexpr std::size_t reaction_seconds = 10;
inline constexpr double goodput_min = 0.9;
inline constexpr double goodput_min_at_first = 0.7;
inline constexpr std::size_t recovery_seconds_max = 10;

[[nodiscard]] verdict judge(const figures& f);
// What is wrong with a day with protections, one text each.
[[nodiscard]] std::vector<std::string> defects_of(const verdict& v);
// The share of what the capacity allows that a fleet without protections serves at most, from the end of the
// failure of a zone to the end of the day, though nothing is broken for most of that time.
inline constexpr double collapsed_below = 0.5;
// What is wrong with the scenario, if the day without protections is better.
[[nodiscard]] std::vector<std::string> missing_collapse(const figures& f);

}  // namespace coracle::day
