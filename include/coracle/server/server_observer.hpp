// server_observer: gets notified of a server's calls, for access logs, statistics and traces (gRFC A66, A72).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/call_traffic.hpp"
#include "coracle/server/server_context.hpp"

#include <cstdint>

namespace coracle {

class loop;
namespace server_internal {
class server_watch;  // private: src/server/call/server_watch.hpp
}

/// A call on a server; the observer gets the same object from call_started() to call_ended().
class served_call {
 public:
  /// @cond
  explicit served_call(server_context& c) noexcept : context(c) {}
  /// @endcond
  served_call(const served_call&) = delete;
  served_call& operator=(const served_call&) = delete;

  server_context& context;  ///< method, peer, metadata, traffic; valid as long as this object
  /// Which of the methods of the server's services it is: a number that is the same on all loops. Methods
  /// that no service has share the number after the last one. Clients choose the names of those freely: do
  /// not use them as labels.
  std::uint32_t method_index = 0;
  /// Whether the observer gets headers_sent(), message_received() and message_sent() for this call: what
  /// wants_progress() returned, and call_started() may set it to true.
  bool wants_progress = false;
  time_point began{};  ///< when the request headers arrived, by the clock of its loop
  void* user = nullptr;  ///< for the observer's own use
  /// Returns what was exchanged, in call_ended(). Before that, see server_context::traffic().
  [[nodiscard]] const call_traffic& traffic() const noexcept { return *traffic_; }

 private:
  friend class server_internal::server_watch;
  const call_traffic* traffic_ = nullptr;
};

/// Gets notified of the calls of a server. One object serves all loops: its functions run on the loops of the
/// server, concurrently if there are several, inside the call's path, so they must be short and must not
/// block. Share it with server_options::observer or server::add_observer(): the server and its calls keep it.
/// Calls of unregistered methods are reported, too; calls that are rejected before their method matters
/// (malformed, over a limit) are not.
class server_observer {
 public:
  virtual ~server_observer() = default;
  /// Returns the observer of the calls of one loop, which must live as long as this one: an observer that
  /// counts for each loop by itself needs no lock. Called on the loop, before its first call. `methods` is
  /// the number of registered methods, and served_call::method_index of all others. May throw
  /// std::bad_alloc. Default: this observer, for all loops.
  [[nodiscard]] virtual server_observer& on_loop(const loop& where, std::uint32_t methods) {
    (void)where;
    (void)methods;
    return *this;
  }
  /// Returns whether the observer needs headers_sent(), message_received() and message_sent(). Called on the
  /// loop, before its first call. Default: true. An observer that needs only the beginning and the end of
  /// calls, with served_call::traffic(), costs less without them.
  [[nodiscard]] virtual bool wants_progress() const noexcept { return true; }
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
