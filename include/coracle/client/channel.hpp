// channel: a client's connection to one server, shared by its stubs.
#pragma once

#include "coracle/rpc/call_channel.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/transport/connector.hpp"
#include "coracle/transport/credentials.hpp"

#include <memory>
#include <string_view>

namespace coracle {

namespace client {
class channel_state;  // private: src/client/channel_state.hpp
}

// Connects when the first call needs it, and again after a loss, with growing pauses (1 s, times 1.6,
// at most 120 s, jitter 20 %: grpc/grpc doc/connection-backoff.md). A call that comes while connecting
// waits, within its deadline; one that comes during a pause fails at once with UNAVAILABLE and the reason.
//
// Each loop that calls through the channel has a connection of its own; a call resumes on its
// caller's loop. Calls may be made from the loops of the channel's runtime, and by sync_wait() from
// plain threads. Destroying the channel ends its calls (UNAVAILABLE) and does not wait, on any thread.
class channel final : public call_channel {
 public:
  // On a runtime of its own, with one loop on a background thread: for plain threads. Such a channel must
  // outlive its call objects, and is destroyed by a thread that drives no loop: it ends its runtime.
  // target: "127.0.0.1:50051", "[::1]:50051", "localhost:50051", "unix:/path". One that cannot be
  // understood fails every call, with the reason.
  // credentials: insecure(), or coracle::tls::client_options().
  channel(std::string_view target, transport::channel_credentials credentials);
  // `on` must outlive every call.
  channel(runtime& on, std::string_view target, transport::channel_credentials credentials);
  // To a server in this process: server::in_process().
  channel(runtime& on, std::shared_ptr<transport::connector> to);
  channel(runtime& on, std::shared_ptr<transport::connector> to, transport::channel_credentials credentials);
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel();

  [[nodiscard]] runtime& owner() const noexcept;

  void begin(calls::call_attempt& a) noexcept override;
  std::shared_ptr<calls::attempt_source> source() noexcept override;
  loop& blocking_home() override;

 private:
  std::unique_ptr<runtime> own_;
  std::shared_ptr<client::channel_state> state_;
};

}  // namespace coracle
