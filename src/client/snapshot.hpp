// snapshot: what a channel's home has decided, for the shards of all loops. It never changes.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/resolution.hpp"
#include "coracle/client/service_config.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

class method_configs;

struct snapshot {
  // ok: `servers` has at least one. Else nothing was ever found: UNAVAILABLE, with the reason.
  status why;
  std::vector<endpoint> servers;
  balancing how = balancing::pick_first();
  std::uint32_t connections_max = 1;  // to one server and loop
  // The resolver's, else that of channel_options.
  service_config config;
  std::shared_ptr<const method_configs> methods;  // of config; null: it says nothing of methods
};

}  // namespace coracle::client
