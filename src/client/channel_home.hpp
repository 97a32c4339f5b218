// channel_home: runs a channel's resolver on one loop and publishes what it finds to the shards.
#pragma once

#include "client/backoff.hpp"
#include "client/channel_state.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/resolution.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "runtime/resident.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

class channel_state;
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

// Made with the channel's first shard, on that shard's loop, when the target needs a resolver; leaves with the channel.
class channel_home final : public runtime_internal::resident, private resolution_sink {
 public:
  channel_home(std::shared_ptr<channel_state> channel, loop& home);
  ~channel_home() override;

  void start();
  // A shard wants the names looked at again.
  void want() noexcept;

 private:
  // runtime_internal::resident
  void leave() noexcept override;
  // resolution_sink
  void publish(resolution found) override;
  void fail(const status& why) override;
  task<> wanted() override;
  task<> run();
  task<bool> wanted_again();

  std::shared_ptr<channel_state> channel_;
  loop& home_;
  scope work_;
  event<> asked_;
  backoff pause_;  // after failures
  time_point not_before_{};  // the next look
  bool found_ = false;  // something was published
  bool leaving_ = false;
  bool running_ = false;
};

}  // namespace coracle::client
