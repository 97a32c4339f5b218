// scenario: a world, programs in it, and the invariants that hold under every fault.
#pragma once

#include "sim/swarm/run.hpp"

#include <array>
#include <string_view>

namespace coracle::swarm {

struct scenario {
  const char* name;
  void (*play)(run&);
  // What some seed of a long series must reach; scripts/sim.py checks it, over all its processes.
  std::array<std::string_view, 6> expected;
};

void play_calls(run& r);    // calls_scenario.cpp: gRPC clients and servers
void play_web(run& r);      // web_scenario.cpp: the same with gRPC-Web and Connect
void play_retries(run& r);  // retries_scenario.cpp: the same with policies of retries and hedging
void play_secured(run& r);  // secured_scenario.cpp: that over TLS, with certificates that are renewed
void play_fleet(run& r);    // fleet_scenario.cpp: channels to servers behind a name that changes
void play_beside(run& r);   // beside_scenario.cpp: a healthy client beside attackers
void play_streams(run& r);  // streams_scenario.cpp: TCP with half-closes
void play_loops(run& r);    // loops_scenario.cpp: timers, scopes and channels on the loops of one host

inline constexpr std::array<scenario, 8> scenarios{{
    {"calls",
     play_calls,
     {"OK", "CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "cut off by a crash", "drained"}},
    {"web",
     play_web,
     {"OK", "CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "cut off by a crash", "drained"}},
    {"retries",
     play_retries,
     {"OK", "DEADLINE_EXCEEDED", "handled again", "attempts used up", "throttled", "beaten and stopped"}},
    {"secured",
     play_secured,
     {"OK", "UNAVAILABLE", "DEADLINE_EXCEEDED", "resumed", "renewed", "renewed by halves"}},
    {"fleet",
     play_fleet,
     {"OK", "UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "channels that went", ""}},
    {"beside",
     play_beside,
     {"served", "sent away", "rapid reset", "pings", "continuations", "pinned replies"}},
    {"streams", play_streams, {"OK", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "cut off by a crash", "", ""}},
    {"loops", play_loops, {"whole", "cut off by a crash", "", "", "", ""}},
}};

}  // namespace coracle::swarm
