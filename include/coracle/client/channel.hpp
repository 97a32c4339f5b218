// channel: a client's way to the servers of a target, shared by its stubs.
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

// Resolves and connects when the first call needs it, and again after a loss, with growing pauses (1 s, times 1.6,
// at most 120 s, jitter 20 %: grpc/grpc doc/connection-backoff.md) after attempts that fail, and after connections that
// are lost shortly after they were established. A call that comes while connecting
// waits, within its deadline; one that comes while no server can be reached fails at once with UNAVAILABLE and the
// reason, unless it waits for ready (call_options::wait_for_ready(true)). Calls beyond a server's limit of streams wait
// in the order in which they came.
//
// Each loop that calls through the channel has connections of its own; a call resumes on its
// caller's loop. Calls may be made from the loops of the channel's runtime, and by sync_wait() from
// plain threads. Destroying the channel ends its calls (UNAVAILABLE) and does not wait, on any thread.
class channel final : public call_channel {
 public:
  // On a runtime of its own, with one loop on a background thread: for plain threads. Such a channel must
  // outlive its call objects, and is destroyed by a thread that drives no loop: it ends its runtime.
  // target (grpc/grpc doc/naming.md): "example.org:50051", "dns:///example.org:50051" (port 443 if there is none),
  // "127.0.0.1:50051", "[::1]:50051", "ipv4:10.0.0.1:50051,10.0.0.2:50051", "ipv6:[::1]:50051,...",
  // "unix:/path", "unix-abstract:name", "passthrough:///host:port", or a scheme of channel_options::resolver_for().
  // One that cannot be understood fails every call, with the reason.
  // credentials: insecure(), or coracle::tls::client_options().
  channel(std::string_view target, channel_credentials credentials, channel_options options = {});
  // `on` must outlive every call.
  channel(runtime& on, std::string_view target, channel_credentials credentials,
          channel_options options = {});
  // To a server in this process: server::in_process().
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_options options = {});
  channel(runtime& on, std::shared_ptr<transport::connector> to, channel_credentials credentials,
          channel_options options = {});
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel();

  [[nodiscard]] runtime& owner() const noexcept;

  // Any thread. The best state that a loop of the runtime has; a moment later it may be another.
  [[nodiscard]] connectivity state() const noexcept;
  // Any thread: leaves IDLE without a call, for the current loop (on a plain thread: loop 0).
  void connect();
  // Returns true once state() is another than `from`, perhaps at once; false when `at_most` has passed. States in
  // between may go unseen. May outlive the channel: then SHUTDOWN comes.
  [[nodiscard]] task<bool> wait_for_state_change(connectivity from, duration at_most = duration::max());

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
