// DelegatingChannel: a channel around another one, for programs that change what GetState() and its sisters do. Its calls are those of the other one.
#pragma once

#include <grpcpp/impl/channel_interface.h>

#include <memory>
#include <utility>

namespace grpc::experimental {

class DelegatingChannel : public ChannelInterface {
 public:
  explicit DelegatingChannel(std::shared_ptr<ChannelInterface> delegate) : delegate_(std::move(delegate)) {}
  grpc_connectivity_state GetState(bool try_to_connect) override {
    return delegate_->GetState(try_to_connect);
  }
  std::shared_ptr<ChannelInterface> delegate_channel() { return delegate_; }

  internal::channel_core* core() final { return delegate_->core(); }
  Channel* origin() final { return delegate_->origin(); }
  std::size_t first_interceptor() final { return delegate_->first_interceptor(); }

 private:
  void NotifyOnStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline,
                               CompletionQueue* queue, void* tag) override {
    delegate_->NotifyOnStateChangeImpl(last_observed, deadline, queue, tag);
  }
  bool WaitForStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline) override {
    return delegate_->WaitForStateChangeImpl(last_observed, deadline);
  }

  std::shared_ptr<ChannelInterface> delegate_;
};

}  // namespace grpc::experimental
