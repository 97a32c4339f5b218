// policies: a service config of a seed: retries or hedging, for every method.
#pragma once

#include "sim/swarm/call_ledger.hpp"
#include "sim/swarm/run.hpp"

#include "coracle/client/service_config.hpp"

namespace coracle::swarm {

struct drawn_policies {
  service_config config;
  attempt_rules rules;
};

drawn_policies draw_policies(run& r, dice& from);

}  // namespace coracle::swarm
