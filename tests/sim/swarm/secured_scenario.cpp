// gRPC over TLS: certificates are renewed while calls run, and a renewal alone never fails a call.
#include "sim/swarm/calls_world.hpp"
#include "sim/swarm/certified.hpp"
#include "sim/swarm/policies.hpp"
#include "sim/swarm/scenario.hpp"
#include "sim/swarm/seeded_openssl.hpp"

namespace coracle::swarm {

void play_secured(run& r) {
  seed_openssl(r.seed());
  dice draws = r.dice_for(1);
  const mixture mix = draw_mixture(draws);
  certified hosts(r, mix);
  call_ledger ledger(r, mix);
  const drawn_policies policies = draw_policies(r, draws);
  ledger.expect_attempts(policies.rules);
  {
    calls_world world(r, mix, ledger, {.policies = &policies, .secure = &hosts});
    world.play();
  }
  ledger.check_all_ended();
}

}  // namespace coracle::swarm
