// scenario: a world, programs in it, and what must hold whatever goes wrong.
#pragma once

#include "sim/swarm/run.hpp"

#include <array>

namespace coracle::swarm {

struct scenario {
  const char* name;
  void (*play)(run&);
};

void play_calls(run& r);    // calls_scenario.cpp: gRPC clients and servers
void play_streams(run& r);  // streams_scenario.cpp: TCP with half-closes
void play_loops(run& r);    // loops_scenario.cpp: timers, scopes and channels on the loops of one host

inline constexpr std::array<scenario, 3> scenarios{{
    {"calls", play_calls},
    {"streams", play_streams},
    {"loops", play_loops},
}};

}  // namespace coracle::swarm
