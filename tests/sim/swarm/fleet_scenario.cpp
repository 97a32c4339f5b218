// Channels: several servers behind a name that changes, while the world injects faults.
#include "sim/swarm/fleet_world.hpp"
#include "sim/swarm/scenario.hpp"

namespace coracle::swarm {

void play_fleet(run& r) {
  dice draws = r.dice_for(1);
  fleet_world world(r, draw_mixture(draws));
  world.play();
}

}  // namespace coracle::swarm
