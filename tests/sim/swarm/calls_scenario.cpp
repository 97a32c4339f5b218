// gRPC: clients call servers with calls of every kind while the world injects faults.
#include "sim/swarm/calls_world.hpp"
#include "sim/swarm/scenario.hpp"

namespace coracle::swarm {

void play_calls(run& r) {
  dice draws = r.dice_for(1);
  const mixture mix = draw_mixture(draws);
  call_ledger ledger(r, mix);
  {
    calls_world world(r, mix, ledger);
    world.play();
  }
  ledger.check_all_ended();
}

}  // namespace coracle::swarm
