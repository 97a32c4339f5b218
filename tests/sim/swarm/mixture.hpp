// mixture: the faults of one seed. Some seeds have none, some all; most have some, so that one does not hide
// another.
#pragma once

#include "sim/swarm/dice.hpp"

#include "coracle/runtime/sim_faults.hpp"

namespace coracle::swarm {

struct mixture {
  sim::faults faults;
  bool breaks = false;  // connections may end, or not come about
  bool crashes = false;  // hosts go down
  bool silent = false;  // a peer may never be notified of an end: only a deadline ends its wait
};

mixture draw_mixture(dice& from);

}  // namespace coracle::swarm
