// plan: the size of the fleet, its load over the day, and what goes wrong when.
#pragma once

#include "coracle/base/clock.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace coracle::day {

using namespace std::chrono_literals;

// A second of the simulation stands for five minutes of the load. Latencies, deadlines, failures and whatever
// the library measures have their real durations.
inline constexpr std::size_t day_seconds = 288;

// --- the fleet: in each layer `services` services, each with one server in every zone
inline constexpr std::size_t zones = 4;
// Each server has this many workers, which it does not know of: calls queue for them without bound, and a
// worker finishes what it has begun even if no caller waits for it any more.
inline constexpr std::size_t workers = 4;
// The mean time that a worker takes for a call, by layer: a service can do somewhat more than those that call
// it, as it should.
inline constexpr std::array<duration, 5> work{40ms, 34ms, 32ms, 30ms, 28ms};
[[nodiscard]] constexpr double calls_per_second(std::size_t layer) noexcept {
  return static_cast<double>(workers) / std::chrono::duration<double>(work[layer]).count();
}

// --- users: they wait for a second, and try again up to three times
inline constexpr duration patience = 1s;
inline constexpr int tries_max = 4;
inline constexpr duration pause_min = 500ms;  // and as much again at most, by chance

// The share of the capacity of the first layer that new requests need: from 0.3 at night to 0.75 at noon.
[[nodiscard]] inline double load_at(double second) noexcept {
  return 0.525 - 0.225 * std::cos(2 * std::numbers::pi * second / day_seconds);
}

struct event {
  const char* name;
  std::size_t begin;
  std::size_t end;  // of the cause, in seconds
};

enum what : std::size_t {
  bad_deploy,
  slow_disk,
  failing_zone,
  retry_storm,
  partition,
  clock_jumps,
  events_all
};

inline constexpr std::array<event, events_all> events{{
    {"bad deploy", 50, 70},
    {"slow disk", 95, 115},
    {"failing zone", 138, 158},
    {"retry storm", 185, 200},
    {"partition", 225, 237},
    {"clock jumps", 262, 272},
}};

// The new release fails every call at once, and is deployed to the servers of this layer in one zone.
inline constexpr std::size_t deploy_layer = 2;
inline constexpr std::size_t deploy_zone = 1;
// The workers of this layer in one zone are so many times slower.
inline constexpr std::size_t disk_layer = 4;
inline constexpr std::size_t disk_zone = 2;
inline constexpr int disk_slowdown = 10;
// The hosts of this zone lose their power.
inline constexpr std::size_t power_zone = 3;
// A faulty client program tries at once, so often, whenever a request fails; a burst of requests starts it.
inline constexpr int storm_tries = 10;
inline constexpr double storm_burst = 2;
inline constexpr duration storm_burst_time = 3s;

}  // namespace coracle::day
