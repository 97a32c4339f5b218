// scenario: who calls how often and how long.
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

// closed: workers, each of which makes its next call when the last has ended.
// open:   calls begin by a plan, and their latencies count from there, so that a server that stalls has them all against
//         it and not only those that were on their way (no coordinated omission).
// users:  each comes at its time with a connection of its own, makes its calls one by one, and goes.
enum class shape : std::uint8_t { closed, open, users };

// Bounds: what lies beyond is a slip, and the arithmetic of a plan stays exact below.
inline constexpr std::uint64_t calls_max = 1'000'000'000;  // users too, and the calls of each
inline constexpr std::uint64_t workers_max = 1'000'000;  // connections too
inline constexpr double rate_per_s_max = 10'000'000;
inline constexpr duration length_max = std::chrono::hours(1000);

struct scenario {
  shape how = shape::closed;
  std::size_t loops = 1;
  std::size_t connections = 1;  // closed and open; over all loops
  std::size_t concurrency = 1;  // closed: workers, over all connections
  std::optional<std::uint64_t> count;  // closed: calls in all
  std::optional<duration> length;  // closed and users: no call begins later
  std::vector<stage> stages;  // open
  duration patience =
      std::chrono::seconds(20);  // open: what has not begun so long after the plan's end has failed
  std::uint64_t users = 0;
  duration ramp_up{};  // users: how long it takes until the last one has come
  std::optional<std::uint64_t> calls_per_user;
  duration warm_up{};  // calls that begin within it are not counted
  duration connect_timeout = std::chrono::seconds(10);
};

// "100:30s" or "0:100:10s"; throws usage_failure.
[[nodiscard]] stage parse_stage(const std::string& text);

// At one rate above 0, until so many calls have begun; throws usage_failure.
[[nodiscard]] stage stage_until(std::uint64_t calls, double rate_per_s);

// Throws usage_failure, with the mend, for one that makes no sense.
void check(const scenario& s);
// "50 workers on 1 connection, 200 calls"
[[nodiscard]] std::string describe(const scenario& s);
// How many calls are to be made, where that is known beforehand.
[[nodiscard]] std::optional<std::uint64_t> planned_calls(const scenario& s);
// How long it is to take without the warm-up, where that is known beforehand.
[[nodiscard]] std::optional<duration> planned_time(const scenario& s);

}  // namespace coracle::tools::load
