// channel_home: runs a channel's resolver on one loop and publishes what it finds to the shards.
#pragma once

#include "client/backoff.hpp"
#include "client/channel_state.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "runtime/resident.hpp"

#include <memory>

namespace coracle::client {

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
