// attacker: a malicious client of raw HTTP/2, which reconnects when it is disconnected.
#pragma once

#include "sim/swarm/dice.hpp"
#include "sim/swarm/run.hpp"

#include "coracle/coro/task.hpp"

#include <cstdint>
#include <string>

namespace coracle::swarm {

enum class attack : std::uint8_t { rapid_reset, pings, continuations, pinned_replies };

// A root task on the attacker's host.
task<> attack_until(const bool& over, run& r, attack chosen, std::string server);

}  // namespace coracle::swarm
