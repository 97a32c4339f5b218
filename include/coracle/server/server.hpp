// server: listens, and has services answer.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/server_options.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "coracle/server/service.hpp"
#include "coracle/transport/connector.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle {

namespace server_internal {
class server_state;  // private: src/server/server_state.hpp
}

// Life: add services, listen, run() or start(). A request is handled on the loop of its connection;
// connections are spread over the runtime's loops. Members may be called from any thread unless they
// say otherwise.
class server {
 public:
  // With a runtime of its own, of one loop.
  explicit server(const server_options& options = {});
  // `on` may outlive the server or not.
  explicit server(runtime& on, const server_options& options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  // Stops the calls that still run, closes the connections and waits for both. On a thread that
  // drives no loop (else: abort).
  ~server();

  // Before the first listen() or in_process(). The service must outlive the server. A path that two
  // services share is a defect of the caller (abort).
  void add(service& s);
  // The same, and the server keeps it alive.
  void add(std::shared_ptr<service> s);
  // Answers the methods that no service has; otherwise they are UNIMPLEMENTED. Likewise before the first listen();
  // one a server. It must outlive the server.
  void set_fallback(generic_service& s);
  // Puts an interceptor around every call, also of methods that no service has, inside those that were added before. Before the first listen() or
  // in_process(); it must outlive the server, or is kept by it.
  void add_interceptor(server_interceptor& i);
  void add_interceptor(std::shared_ptr<server_interceptor> i);

  // "127.0.0.1:50051", "[::]:50051", "localhost:0" (both loopbacks), "unix:/path"; port 0 lets the system
  // choose. "systemd:" listens on all sockets that the service manager has opened for this process (LISTEN_FDS), TCP and
  // UNIX, "systemd:NAME" on those of that name; they stay the manager's, and so does a socket's file. Connections are
  // accepted once the loops run. Fails when the address is in use, not
  // allowed or not understood, with a message that says how to fix it; run() reports the failure as well.
  // credentials: insecure(), or coracle::tls::server_options().
  status listen(std::string_view address, server_credentials credentials);
  // Of the first listen(); 0 before it, and for UNIX sockets.
  [[nodiscard]] std::uint16_t port() const noexcept;

  // Serves until SIGINT or SIGTERM, or stop(); also a SIGTERM that came since the first listen(). Then drains: no
  // new connections, GOAWAY to the old ones, running calls get server_options::drain_grace() to end (a second signal
  // ends them at once). Drives the runtime. For main(): 0, or 1 after a line on stderr when a listen() failed or none
  // was made.
  int run();
  // Serves in the background on the runtime's own threads, without watching signals.
  void start();
  // Begins a drain and returns.
  void stop() noexcept;
  // Drains and waits for its end. For coroutines of any runtime's loop.
  [[nodiscard]] task<> drain(duration grace);

  // For channels of this process: their bytes pass through memory, with everything else as it is on a
  // socket. Valid as long as the server.
  [[nodiscard]] std::shared_ptr<transport::connector> in_process();

  // What it has done so far, gathered from its loops one after the other: connections that come or go meanwhile
  // may be missed. For coroutines of any runtime's loop.
  [[nodiscard]] task<server_snapshot> snapshot();

  [[nodiscard]] runtime& owner() const noexcept;

 private:
  std::unique_ptr<runtime> own_;
  std::shared_ptr<server_internal::server_state> state_;
};

}  // namespace coracle
