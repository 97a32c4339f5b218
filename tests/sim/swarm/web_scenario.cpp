// gRPC-Web and Connect, over HTTP/1.1 and HTTP/2: the calls of the scenario "calls", under the same faults.
#include "sim/swarm/calls_world.hpp"
#include "sim/swarm/scenario.hpp"

namespace coracle::swarm {

void play_web(run& r) {
  dice draws = r.dice_for(1);
  const mixture mix = draw_mixture(draws);
  call_ledger ledger(r, mix);
  {
    calls_world world(r, mix, ledger, {.web = true});
    world.play();
  }
  ledger.check_all_ended();
}

}  // namespace coracle::swarm
