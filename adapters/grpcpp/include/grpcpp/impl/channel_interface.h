// ChannelInterface: what stubs call through.
#pragma once

#include <grpc/impl/connectivity_state.h>
#include <grpcpp/support/time.h>

#include <cstddef>

namespace grpc {

class Channel;
class ClientContext;
class CompletionQueue;

namespace internal {

class channel_core;  // private: src/client/channel_core.hpp
class client_stream;
struct unary_request;

}  // namespace internal

namespace experimental {

class DelegatingChannel;

}  // namespace experimental

/// The base of Channel. Any thread may use it.
class ChannelInterface {
 public:
  virtual ~ChannelInterface() = default;
  /// Returns the state of the connections. try_to_connect: leaves IDLE as a call would.
  virtual grpc_connectivity_state GetState(bool try_to_connect) = 0;

  /// Blocks until the state differs from `last_observed`, and returns true; false when the deadline has
  /// passed.
  template <typename T>
  bool WaitForStateChange(grpc_connectivity_state last_observed, T deadline) {
    return WaitForStateChangeImpl(last_observed, TimePoint<T>(deadline).raw_time());
  }
  /// Connects, and blocks until the channel is ready; false when the deadline has passed.
  template <typename T>
  bool WaitForConnected(T deadline) {
    grpc_connectivity_state state = GRPC_CHANNEL_IDLE;
    while ((state = GetState(true)) != GRPC_CHANNEL_READY) {
      if (state == GRPC_CHANNEL_SHUTDOWN || !WaitForStateChange(state, deadline)) return false;
    }
    return true;
  }
  /// Puts an event into the queue when the state differs from `last_observed` (`ok` is true), or when the
  /// deadline has passed.
  template <typename T>
  void NotifyOnStateChange(grpc_connectivity_state last_observed, T deadline, CompletionQueue* queue,
                           void* tag) {
    NotifyOnStateChangeImpl(last_observed, TimePoint<T>(deadline).raw_time(), queue, tag);
  }

  // For the library: null if calls cannot be made through the object.
  virtual internal::channel_core* core() { return nullptr; }
  // The channel behind it; null as core().
  virtual Channel* origin() { return nullptr; }
  // The interceptors before it do not see the calls.
  virtual std::size_t first_interceptor() { return 0; }

 private:
  friend class experimental::DelegatingChannel;
  virtual void NotifyOnStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline,
                                       CompletionQueue* queue, void* tag) = 0;
  virtual bool WaitForStateChangeImpl(grpc_connectivity_state last_observed, gpr_timespec deadline) = 0;
};

}  // namespace grpc
