// gRPC with policies of retries or hedging: calls of every kind end once, complete and in order, however
// often they are made.
#include "sim/swarm/calls_world.hpp"
#include "sim/swarm/policies.hpp"
#include "sim/swarm/scenario.hpp"

namespace coracle::swarm {

void play_retries(run& r) {
  dice draws = r.dice_for(1);
  const mixture mix = draw_mixture(draws);
  call_ledger ledger(r, mix);
  const drawn_policies policies = draw_policies(r, draws);
  ledger.expect_attempts(policies.rules);
  {
    calls_world world(r, mix, ledger, {.policies = &policies});
    world.play();
  }
  ledger.check_all_ended();
}

}  // namespace coracle::swarm
