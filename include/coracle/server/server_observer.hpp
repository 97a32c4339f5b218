// server_observer: gets notified of a server's calls, for access logs, statistics and traces (gRFC A66, A72).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/server/server_context.hpp"

namespace coracle {

/// A call on a server; the observer gets the same object from call_started() to call_ended().
struct served_call {
  /// @cond
  explicit served_call(server_context& c) noexcept : context(c) {}
  /// @endcond
  served_call(const served_call&) = delete;
  served_call& operator=(const served_call&) = delete;

  server_context& context;  ///< method, peer, metadata, traffic; valid as long as this object
  /// Whether a service of the server has the method. Clients choose the names of others freely: do not use
  /// them as labels.
  bool registered = true;
  time_point began{};  ///< when the request headers arrived, by the clock of its loop
  void* user = nullptr;  ///< for the observer's own use
};

/// Gets notified of the calls of a server. One object serves all loops: its functions run on the loops of the
/// server, concurrently if there are several, inside the call's path, so they must be short and must not
/// block. Share it with server_options::observer or server::add_observer(): the server and its calls keep it.
/// Calls of unregistered methods are reported, too; calls that are rejected before their method matters
/// (malformed, over a limit) are not.
class server_observer {
 public:
  virtual ~server_observer() = default;
  /// Returns whether the observer needs message_received() and message_sent(). Called once for each loop,
  /// before the first call. Default: true. An observer that reads server_context::traffic() at the end of the
  /// call needs neither, and costs less without them.
  [[nodiscard]] virtual bool wants_messages() const noexcept { return true; }
  /// The request headers have arrived; the handler has not begun.
  virtual void call_started(served_call&) noexcept {}
  /// The response headers are sent: with the first message, by send_initial_metadata(), or with the status.
  virtual void headers_sent(served_call&) noexcept {}
  /// A request message was received.
  virtual void message_received(served_call&, message_size) noexcept {}
  /// A reply message was sent.
  virtual void message_sent(served_call&, message_size) noexcept {}
  /// The call has ended for the client: `outcome` was sent, or says why nothing can be sent (CANCELLED,
  /// DEADLINE_EXCEEDED). The handler may still run. Called exactly once, as the last notification of the
  /// call.
  virtual void call_ended(served_call&, const status& outcome, time_point now) noexcept {
    (void)outcome;
    (void)now;
  }
};

}  // namespace coracle
