// policies: a service config of a seed: retries or hedging, for every method.
#pragma once

#include "sim/swarm/run.hpp"

#include "coracle/client/service_config.hpp"

namespace coracle::swarm {

// Attempts of a drawn policy at most, and a transparent retry.
inline constexpr int attempts_max = 5 + 1;

service_config draw_policies(run& r, dice& from);

}  // namespace coracle::swarm
