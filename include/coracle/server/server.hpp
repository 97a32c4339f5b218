// server: listens and dispatches requests to services.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/openapi.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/http_route.hpp"
#include "coracle/server/rest_options.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/server_options.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "coracle/server/service.hpp"
#include "coracle/transport/impl/connector.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {

class auth_context;
class server_observer;

namespace server_internal {
class server_state;  // private: src/server/server_state.hpp
}

/// A gRPC server.
///
/// Add services, call listen(), then run() or start(). The loop of a connection handles its requests; the
/// server spreads connections over the loops of the runtime. Members may be called from any thread unless
/// they say otherwise.
class server {
 public:
  /// Makes a server with its own runtime, which has one loop.
  explicit server(const server_options& options = {});
  /// Makes a server on the runtime `on`, which may be destroyed before or after the server.
  explicit server(runtime& on, const server_options& options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  /// Cancels the calls that still run, closes the connections and waits for both. Must run on a thread that
  /// drives no loop (otherwise it aborts).
  ~server();

  /// Adds a service. Call it before the first listen() or in_process(). The service must outlive the server.
  /// Two services with the same path are a programming error (abort).
  void add(service& s);
  /// Adds a service and keeps it alive.
  void add(std::shared_ptr<service> s);
  /// Sets the service that handles the unregistered methods; without one they end with UNIMPLEMENTED. Call it
  /// at most once, before the first listen() or in_process(). The service must outlive the server.
  void set_fallback(generic_service& s);
  /// Runs an interceptor around every call, those of unregistered methods included, inside the interceptors
  /// that were added before. Call it before the first listen() or in_process(). The server and its calls keep
  /// the interceptor.
  void add_interceptor(std::shared_ptr<server_interceptor> i);

  /// Notifies an observer of every call, after those that were added before and server_options::observer.
  /// Call it before the first listen() or in_process(). The server and its calls keep the observer.
  void add_observer(std::shared_ptr<server_observer> o);

  /// Serves the methods of the services that were added before over plain HTTP with JSON, as their
  /// google.api.http rules define. Call it before the first listen().
  ///
  /// Fails, and serves nothing of it, if a rule is invalid or two rules match the same requests; the message
  /// names the methods. Methods without a rule, and those of LITE_RUNTIME, have no route.
  status add_rest(const rest_options& options = {});

  /// Adds a route of plain HTTP, which its handler answers beside the protocols of calls, over HTTP/1.1 and
  /// HTTP/2. Call it before the first listen().
  ///
  ///   server.add_http("GET", "/movies/{id}/poster", [&](coracle::http_request request) { ... });
  ///
  /// Requests of web pages and the hosts that they name are checked first (server_options::web). The limits
  /// of connections, streams and calls, the memory quota, the stall time and the drain apply as for calls;
  /// interceptors and observers do not see the requests. Paths without a route get 404, except that GET / has
  /// a small page.
  ///
  /// Throws usage_error, and adds nothing, if the route is invalid or matches the same requests as another
  /// route or a method; the message names both.
  void add_http(http_route route);
  /// Adds a route with the default options.
  void add_http(std::string_view method, std::string_view path, http_handler handler);

  /// Answers GET of `path` with a document of OpenAPI 3.1, which describes what the server answers over plain
  /// HTTP: the routes of add_rest(), and the methods as JSON if server_options::codecs has json_codec(). A
  /// path that ends with .yaml or .yml has the document in YAML. Call it after add() and add_rest(), and
  /// before the first listen().
  ///
  ///   server.add_openapi();  // GET /openapi.json
  ///
  /// `options` has the texts of the document, and may leave out the routes of REST or the JSON methods;
  /// http_rules, proto_field_names and format are the server's own. Services without descriptors
  /// (LITE_RUNTIME) are not described. Fails, and adds nothing, as openapi_document() does. Throws
  /// usage_error as add_http() does.
  status add_openapi(const openapi_options& options = {}, std::string_view path = "/openapi.json");

  /// Listens on an address.
  ///
  /// `address`: "127.0.0.1:50051", "*:50051", "localhost:0" (both loopback addresses), "unix:/path". "*",
  /// "0.0.0.0" and "[::]" stand for all interfaces, by IPv4 and IPv6, if the machine has both. With port 0
  /// the system chooses the port. "systemd:" listens on all sockets that the service manager has opened for
  /// this process (LISTEN_FDS), TCP and UNIX; "systemd:NAME" on those with that name. Such sockets stay the
  /// manager's, and so does the file of a UNIX socket. `credentials`: insecure() or
  /// coracle::tls::server_options().
  ///
  /// With server_options::handover, the first listen() asks the process that serves for its sockets, and
  /// waits for the answer; listen() then uses those that have the address.
  ///
  /// The server accepts connections once the loops run. Fails if the address is in use, not permitted or
  /// malformed, with a message that says how to fix it; run() reports the failure as well.
  status listen(std::string_view address, server_credentials credentials);
  /// Returns the port of the first listen(); 0 before it and for UNIX sockets.
  [[nodiscard]] std::uint16_t port() const noexcept;
  /// Returns the addresses that the server listens on, in the order of listen(), with the ports that the
  /// system has chosen. A listen() may add several.
  [[nodiscard]] std::vector<net::address> addresses() const;

  /// Serves a connection that the program has made or accepted: a connected TCP or UNIX stream socket, such
  /// as an end of socketpair(). Call it after all services were added; listen() is not needed. `credentials`:
  /// as of listen().
  ///
  /// The server owns the descriptor, makes it non-blocking and closes it when the connection ends. It has the
  /// rules of connections that the server accepts: server_limits::connections, ages, drains. Fails with
  /// INVALID_ARGUMENT if it is not such a socket, with UNAVAILABLE if the runtime has ended, and with
  /// UNIMPLEMENTED in a simulation; the descriptor then stays the caller's.
  status adopt(int descriptor, server_credentials credentials);

  /// Changes `limits`, `rate_limits` and `admission` to those of `options`, also while the server serves. All
  /// other options, and `limits.stall_time`, stay as they are.
  ///
  /// Each loop uses the new values a moment later, for new connections and calls: open connections keep the
  /// limits of their streams, headers, handshakes and unread bytes, and calls that have begun their deadline.
  /// A rate limit that is equal to one before keeps its tokens, and others begin with all. If `admission` is
  /// not set any more, calls that wait still get their turn or are rejected.
  ///
  /// Throws usage_error, and changes nothing, if a rate limit is invalid. Throws std::bad_alloc if some loops
  /// may not get the new values: call it again then. Has no effect once the runtime has ended.
  void reload(const server_options& options);

  /// Lets run() call `read` for each SIGHUP, off the loops, and then reload() with what it returns. If it
  /// throws, or the options are invalid, the log has an error and nothing changes. Call it before run(). The
  /// server keeps `read`.
  void reload_on_hangup(std::function<server_options()> read);

  /// Drives the runtime and serves until SIGINT, SIGTERM or stop(), and for server_options::leave_time from
  /// then on, then drains; meant for main(). A SIGTERM that arrived after the first listen() counts, too.
  ///
  /// A drain accepts no new connections, sends GOAWAY on the open ones, and gives running calls
  /// server_options::drain_grace to end; a second signal cancels them at once. Returns the exit code of the
  /// program: 0, or 1 after a line on stderr if a listen() failed, or none was made, or the process that this
  /// one was to replace went on serving.
  ///
  /// With server_options::handover, SIGUSR2 starts a successor: see hand_over(). The first SIGINT or SIGTERM
  /// cancels no call of a server that a successor replaces or has replaced, and ends
  /// handover_options::goaway_time; the second one cancels the calls.
  int run();
  /// Serves in the background on the runtime's own threads, without handling signals.
  void start();
  /// Starts the program of this process once more, with its arguments and the environment of the first
  /// listen(); the new process takes over as server_options::handover describes. Needs run() or start()
  /// before: without them the log has an error, and nothing happens. Returns at once; the log says why there
  /// is no successor. Throws usage_error without server_options::handover, and before listen().
  void hand_over();
  /// Begins to leave (server_options::leave_time), drains with server_options::drain_grace after that, and
  /// returns at once.
  void stop() noexcept;
  /// Drains and waits until no connection is left; calls that still run after `grace` are cancelled. For
  /// coroutines on a loop of any runtime.
  [[nodiscard]] task<> drain(duration grace);

  /// Returns a connector for channels in this process. Their bytes pass through memory; everything else is as
  /// on a socket. It connects as long as the server exists.
  ///
  /// `client`: the identity that calls of these channels have, as server_context::auth(). Use it to make
  /// calls on behalf of a client whose identity is known, or to test handlers that check it. Null: they have
  /// none, as in plaintext.
  [[nodiscard]] std::shared_ptr<transport::connector> in_process(
      std::shared_ptr<const auth_context> client = nullptr);

  /// Returns what the server has done so far. The loops are queried one after the other, so connections that
  /// open or close meanwhile may be missing. For coroutines on a loop of any runtime.
  [[nodiscard]] task<server_snapshot> snapshot();

  /// @cond  For the library.
  // Makes listen() fail for addresses that other machines reach, with this reason. Call it before the first
  // listen().
  void require_loopback(std::string reason);
  [[nodiscard]] const std::shared_ptr<server_internal::server_state>& state() const noexcept {
    return state_;
  }
  /// @endcond

  /// The runtime that the server runs on.
  [[nodiscard]] runtime& owner() const noexcept;

 private:
  std::unique_ptr<runtime> own_;
  std::shared_ptr<server_internal::server_state> state_;
};

}  // namespace coracle
