// channel_resolver: runs a channel's resolver on one loop and publishes its results to the shards.
#pragma once

#include "client/connecting/backoff.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "runtime/loop_service.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

class call_router;
class channel_state;
class method_configs;

struct snapshot {
  // If OK, `servers` has at least one element, or there is a router. Otherwise no servers have been found:
  // UNAVAILABLE, with the reason.
  status outcome;
  std::vector<endpoint> servers;
  balancing balancing_policy = balancing::pick_first();
  std::uint32_t connections_max = 1;  // to one server from one loop
  // That of the resolver, or else that of channel_options.
  service_config config;
  std::shared_ptr<const method_configs> methods;  // of config; null: it configures no methods
  // Null: calls are not routed. Else there are no servers but those of the policy.
  std::shared_ptr<const call_router> router;
};

// Made with the channel's first shard, on the loop of that shard, if the target needs a resolver. It ends
// with the channel.
class channel_resolver final : public runtime_internal::loop_service, private resolution_sink {
 public:
  channel_resolver(std::shared_ptr<channel_state> channel, loop& owner_loop);
  ~channel_resolver() override;

  void start() noexcept;

 private:
  // runtime_internal::loop_service
  void begin_shutdown() noexcept override;
  void notified() noexcept override { requested_.set(); }  // a shard requests another resolution
  void finish_shutdown() noexcept;
  // resolution_sink
  void publish(resolution found) override;
  void fail(const status& reason) override;
  task<> wait_until_requested() override;
  task<> run();

  std::shared_ptr<channel_state> channel_;
  loop& loop_;
  scope work_;
  task<> unstarted_;  // until start()
  event<> requested_;
  backoff backoff_;  // after failures
  time_point not_before_{};  // of the next resolution
  bool found_ = false;  // a result has been published
  bool shutting_down_ = false;
  bool running_ = false;
};

}  // namespace coracle::client
