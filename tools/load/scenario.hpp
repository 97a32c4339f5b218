// scenario: how many calls are made, by whom and for how long.
#pragma once

#include "tools/load/arrivals.hpp"

#include <coracle/base/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tools::load {

// closed: workers, each of which makes its next call when the previous one has ended.
// open:   calls begin by a plan, and latencies count from the planned time. A stall of the server thus counts
//         against all calls planned during it, not only against those in flight (no coordinated omission).
// users:  each user arrives at a planned time with a connection of its own, makes its calls one by one, and
//         leaves.
enum class shape : std::uint8_t { closed, open, users };

// Bounds: larger values are typing errors, and below them the arithmetic of a plan is exact.
inline constexpr std::uint64_t calls_max = 1'000'000'000;  // users too, and the calls of each
inline constexpr std::uint64_t workers_max = 1'000'000;  // connections too
inline constexpr double rate_per_s_max = 10'000'000;
inline constexpr duration length_max = std::chrono::hours(1000);

struct scenario {
  shape kind = shape::closed;
  std::size_t loops = 1;
  std::size_t connections = 1;  // closed and open; over all loops
  std::size_t concurrency = 1;  // closed: workers, over all connections
  std::optional<std::uint64_t> count;  // closed: total calls
  std::optional<duration> length;  // closed and users: no call begins later
  std::vector<stage> stages;  // open
  duration patience = std::chrono::seconds(20);  // open: calls not begun this long after the plan's end fail
  std::uint64_t users = 0;
  duration ramp_up{};  // users: the time until the last one has arrived
  std::optional<std::uint64_t> calls_per_user;
  duration warm_up{};  // calls that begin within it are not counted
  duration connect_timeout = std::chrono::seconds(10);
};

// Accepts "100:30s" or "0:100:10s"; throws usage_failure.
[[nodiscard]] stage parse_stage(const std::string& text);

// A stage with one rate above 0 in which `calls` calls begin; throws usage_failure.
[[nodiscard]] stage stage_until(std::uint64_t calls, double rate_per_s);

// Throws usage_failure, with a suggested fix, for an invalid scenario.
void check(const scenario& s);
// Returns "50 workers on 1 connection, 200 calls", for example.
[[nodiscard]] std::string describe(const scenario& s);
// The number of calls, if it is known beforehand.
[[nodiscard]] std::optional<std::uint64_t> planned_calls(const scenario& s);
// The duration without the warm-up, if it is known beforehand.
[[nodiscard]] std::optional<duration> planned_time(const scenario& s);

}  // namespace coracle::tools::load
