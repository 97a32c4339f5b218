// log_time: when a log line is written. A logger has no loop that it could ask, and plain threads log, too.
#pragma once

#include <chrono>

namespace coracle::base {

// The time of day. A simulated host replaces it by its own (src/runtime/sim/hosts.hpp).
std::chrono::system_clock::time_point log_time() noexcept;

}  // namespace coracle::base
