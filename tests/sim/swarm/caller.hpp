// caller: makes one call after the other, and continues with the next one when its host has crashed and
// started again.
#pragma once

#include "sim/swarm/call_ledger.hpp"
#include "sim/swarm/dice.hpp"

#include "echo.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/coro/task.hpp"

#include <cstdint>
#include <vector>

namespace coracle::swarm {

using echo_stub = echo::rpc::Echo::stub;

// Belongs to the scenario, for the life of its world; what a caller remembers over crashes.
struct caller {
  call_ledger& ledger;
  const mixture& mix;
  dice draws;
  std::uint64_t first_id;
  std::uint64_t total;
  int fails_max;  // of a call's handlers
  std::uint64_t next = 0;
  bool done = false;

  call_plan plan_next();
};

// A root task on the caller's host, over channels to each server.
task<> make_calls(caller& from, std::vector<echo_stub> servers);
// Tries until one unary call succeeds; the servers work again.
task<> make_last_call(echo_stub server, bool& succeeded, int& left);

}  // namespace coracle::swarm
