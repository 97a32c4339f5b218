// channel: connects a client to the servers of a target; shared by its stubs.
#pragma once

#include "coracle/client/channel_options.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/transport/connector.hpp"

#include <memory>
#include <string_view>

namespace coracle {

namespace client {
class channel_state;  // private: src/client/channel_state.hpp
}

/// Connects to the servers of a target and sends the calls of stubs to them.
///
/// The channel resolves the target and connects when the first call needs it, and again after a connection is
/// lost. It pauses between attempts that fail, and after connections that are lost shortly after they were
/// established: 1 s, growing by a factor of 1.6 up to 120 s, with 20 % jitter (grpc/grpc
/// doc/connection-backoff.md). A call that begins while the channel connects waits within its deadline. A
/// call that begins while no server can be reached fails at once with UNAVAILABLE and the reason, unless
/// call_options::wait_for_ready(true) is set. Calls beyond a server's stream limit wait in the order in which
/// they were made.
///
/// Each loop that calls through the channel has its own connections, and a call resumes on the loop of its
/// caller. Calls may be made on the loops of the channel's runtime, and with sync_wait() by plain threads.
/// The destructor ends the channel's calls with UNAVAILABLE and does not wait; it may run on any thread.
class channel final : public call_channel {
 public:
  /// Makes a channel with a runtime of its own, which has one loop on a background thread. For programs
  /// without loops.
  ///
  /// Such a channel must outlive its call objects. Its destructor ends the runtime, so it must run on a
  /// thread that drives no loop.
  ///
  /// target (grpc/grpc doc/naming.md): "example.org:50051", "dns:///example.org:50051" (port 443 if there is
  /// none), "127.0.0.1:50051", "[::1]:50051", "ipv4:10.0.0.1:50051,10.0.0.2:50051", "ipv6:[::1]:50051,...",
  /// "unix:/path", "unix-abstract:name", "passthrough:///host:port", or a scheme of
  /// channel_options::resolver_for(). With an invalid target every call fails with the reason.
  ///
  /// credentials: insecure(), or coracle::tls::client_options().
  channel(std::string_view target, channel_credentials credentials, channel_options options = {});
  /// Makes a channel on the runtime `on`, which must outlive every call.
  channel(runtime& on, std::string_view target, channel_credentials credentials,
          channel_options options = {});
  /// Makes a channel to a server in this process (server::in_process()), or over connections that a
  /// coracle::connector makes.
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_options options = {});
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials,
          channel_options options = {});
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  /// Ends the calls of the channel with UNAVAILABLE, and does not wait.
  ~channel();

  /// Returns the runtime of the channel.
  [[nodiscard]] runtime& owner() const noexcept;

  /// Returns the best state among the loops of the runtime, which may change at any moment. May be called
  /// from any thread.
  [[nodiscard]] connectivity state() const noexcept;
  /// Leaves IDLE without a call, on the current loop, or on loop 0 if the caller is not on a loop of the
  /// channel's runtime. May be called from any thread.
  void connect();
  /// Waits until state() differs from `from`, and returns true; returns false when `at_most` has passed. It
  /// may return without waiting, and may miss states in between. It may outlive the channel, whose end is the
  /// state SHUTDOWN.
  [[nodiscard]] task<bool> wait_for_state_change(connectivity from, duration at_most = duration::max());

  // call_channel, for the library.
  void begin(client::call_attempt& a) noexcept override;
  std::shared_ptr<client::attempt_source> source() noexcept override;
  void set_up(client::call_setup& setup, std::string_view method, loop& here) noexcept override;
  bool wait_for_config(client::call_attempt& a) noexcept override;
  loop& blocking_home() override;
  const call_options* defaults() noexcept override;

 private:
  std::unique_ptr<runtime> own_;
  std::shared_ptr<client::channel_state> state_;
};

}  // namespace coracle
