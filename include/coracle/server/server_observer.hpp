// server_observer: is told of a server's calls: for access logs, statistics and traces (gRFC A66, A72).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/message_size.hpp"
#include "coracle/server/server_context.hpp"

namespace coracle {

// A call on a server, the same object from call_started() to call_ended().
struct served_call {
  explicit served_call(server_context& c) noexcept : context(c) {}
  served_call(const served_call&) = delete;
  served_call& operator=(const served_call&) = delete;

  server_context& context;  // method, peer, metadata, traffic; valid as long as this
  time_point began{};
  void* user = nullptr;  // the observer's own
};

// One for all loops: its functions run on the loops of the server, at the same time when there are several, inside
// the call's path, so they are short and never block. It must outlive the server. A call of a method that the server does
// not have is told of, too; one that is refused before its method matters (malformed, over a limit) is not.
class server_observer {
 public:
  virtual ~server_observer() = default;
  // The head has arrived; the handler has not begun.
  virtual void call_started(served_call&) noexcept {}
  // The response's head goes out: with the first message, by send_initial_metadata(), or with the status.
  virtual void head_sent(served_call&) noexcept {}
  virtual void message_received(served_call&, message_size) noexcept {}
  virtual void message_sent(served_call&, message_size) noexcept {}
  // Over for the client: `how` was sent, or says why nothing can be (CANCELLED, DEADLINE_EXCEEDED). The handler
  // may still run. Once, last.
  virtual void call_ended(served_call&, const status& how, time_point now) noexcept {
    (void)how;
    (void)now;
  }
};

}  // namespace coracle
