// service: the base class of generated service classes.
#pragma once

#include "coracle/base/version.hpp"
#include "coracle/net/address.hpp"
#include "coracle/server/impl/method.hpp"
#include "coracle/server/reader.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/server_context.hpp"

#include <span>

namespace coracle {

class service;

/// What a service can learn about the server that it was added to. Lives as long as the server.
class service_host {
 public:
  /// All services that were added; complete from the first listen() or in_process() on, and may then be
  /// called from any thread.
  [[nodiscard]] virtual std::span<service* const> services() const noexcept = 0;

 protected:
  ~service_host() = default;
};

/// The base class of generated services. One object serves every loop of a server: if the server has more
/// than one loop, handlers of different calls may run concurrently on different threads. The object must
/// outlive the server it is added to.
class service {
 public:
  virtual ~service() = default;
  /// The methods that the service implements. The table must live as long as the program.
  [[nodiscard]] virtual method_table methods() const noexcept = 0;

  /// Whether the requests of unary and server-streaming calls are made in server_context::arena(). That is
  /// faster for messages of many parts, and slower for small ones. Must always return the same value.
  [[nodiscard]] virtual bool wants_arena() const noexcept { return false; }

  /// Whether a server with server_options::admission limits the calls of the service and may reject them.
  /// False for what must answer when the server is overloaded, such as health checks. Must always return the
  /// same value.
  [[nodiscard]] virtual bool is_limited() const noexcept { return true; }

  // --- called by the server, for services that report about it (health, reflection)
  /// The service was added to the server of `host`. Runs on the thread that called server::add().
  virtual void added_to(const service_host& /*host*/) {}
  /// The server was told to end: it goes on serving for server_options::leave_time, and then drains. Called
  /// once, on any thread, before draining(). Health checks and registries withdraw it here.
  virtual void leaving() noexcept {}
  /// Another process has taken the server's addresses over (server_options::handover). Called once, on any
  /// thread, in place of leaving(), before draining(). Registries leave the registration to the successor
  /// here, except for the addresses in `given_up`, on which it does not listen.
  virtual void replaced(std::span<const net::address> /*given_up*/) noexcept {}
  /// Another process was to take the addresses over and has failed: the server goes on serving. Called on any
  /// thread, each time. Registries register it again here, because the other process may have replaced the
  /// registration, which ends with that process.
  virtual void resumed() noexcept {}
  /// The server has begun to drain: it accepts no new connections, and gives its calls time to end. Called
  /// once, on any thread.
  virtual void draining() noexcept {}
};

}  // namespace coracle
