// notify_on_state_change: a change of a channel's connectivity.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/channel.h>

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

template <class Deadline>
struct await_state_change {
  using result = bool;
  void start(GrpcContext& context, void* tag) {
    channel->NotifyOnStateChange(last_observed, deadline, context.get_completion_queue(), tag);
  }
  [[nodiscard]] static bool take(bool ok) noexcept { return ok; }
  grpc::ChannelInterface* channel;
  grpc_connectivity_state last_observed;
  Deadline deadline;
};

}  // namespace internal

/// Waits until the state of `channel` is another one than `last_observed`, or until `deadline`. The handler's
/// signature is `void(bool)`, with false at the deadline. The channel must outlive the wait, which cannot be
/// cancelled.
template <class Deadline, class Token = DefaultCompletionToken>
auto notify_on_state_change(GrpcContext& grpc_context, grpc::ChannelInterface& channel,
                            grpc_connectivity_state last_observed, const Deadline& deadline,
                            Token&& token = Token()) {
  return internal::initiate(grpc_context.get_executor(),
                            internal::await_state_change<Deadline>{&channel, last_observed, deadline},
                            std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
