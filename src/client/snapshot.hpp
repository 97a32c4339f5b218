// snapshot: what a channel's home has decided, for the shards of all loops. It never changes.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/resolution.hpp"

#include <vector>

namespace coracle::client {

struct snapshot {
  // ok: `servers` has at least one. Else nothing was ever found: UNAVAILABLE, with the reason.
  status why;
  std::vector<endpoint> servers;
  balancing how = balancing::pick_first();
};

}  // namespace coracle::client
