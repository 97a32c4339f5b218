// Channel: connects to the servers of a target.
#pragma once

#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/support/config.h>

#include <memory>
#include <string>

namespace grpc {

/// Made by CreateChannel() and its sisters. Any thread may use it. It has a connection to a server for its
/// synchronous calls, one for its callbacks, and one for each completion queue that has calls at the same
/// time, up to a number (see the guide). Calls in progress keep the channel.
class Channel final : public ChannelInterface, public std::enable_shared_from_this<Channel> {
 public:
  explicit Channel(std::unique_ptr<internal::channel_core> core);
  ~Channel() override;
  grpc_connectivity_state GetState(bool try_to_connect) override;
  /// Returns an empty text: the policy has no name that programs could use.
  std::string GetLoadBalancingPolicyName() const { return {}; }
  std::string GetServiceConfigJSON() const { return {}; }

  internal::channel_core* core() override { return core_.get(); }
  Channel* origin() override { return this; }

 private:
  void NotifyOnStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline,
                               CompletionQueue* queue, void* tag) override;
  bool WaitForStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline) override;
  std::unique_ptr<internal::channel_core> core_;
};

namespace experimental {

/// Forgets the pause before the next attempt to connect: the library has no such function, and connects by
/// its own rules.
inline void ChannelResetConnectionBackoff(Channel* channel) { static_cast<void>(channel->GetState(true)); }

}  // namespace experimental
}  // namespace grpc
