// channel_home: runs a channel's resolver on one loop and publishes its results to the shards.
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
  // If OK, `servers` has at least one element. Otherwise no servers have been found: UNAVAILABLE, with the
  // reason.
  status why;
  std::vector<endpoint> servers;
  balancing how = balancing::pick_first();
  std::uint32_t connections_max = 1;  // to one server from one loop
  // That of the resolver, or else that of channel_options.
  service_config config;
  std::shared_ptr<const method_configs> methods;  // of config; null: it configures no methods
};

// Made with the channel's first shard, on the loop of that shard, if the target needs a resolver. It leaves
// with the channel.
class channel_home final : public runtime_internal::resident, private resolution_sink {
 public:
  channel_home(std::shared_ptr<channel_state> channel, loop& home);
  ~channel_home() override;

  void start();
  // A shard requests another resolution.
  void want() noexcept;

 private:
  // runtime_internal::resident
  void leave() noexcept override;
  void leave_now() noexcept;
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
  time_point not_before_{};  // of the next resolution
  bool found_ = false;  // a result has been published
  bool leaving_ = false;
  bool running_ = false;
};

}  // namespace coracle::client
