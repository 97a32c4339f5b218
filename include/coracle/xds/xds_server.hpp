// xds_server: a server whose listeners a control plane configures. Link coracle::xds.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/xds/xds.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>

namespace coracle {

class server;

namespace xds {
class inbound_options;  // private: src/xds/serving/inbound.hpp
}

/// The options of xds_server. A value type: set the members that differ from the defaults.
class xds_server_options {
 public:
  /// The bootstrap of the environment.
  xds_server_options() noexcept {}

  /// Where the control planes are. The bootstrap must have server_listener_resource_name_template.
  xds_options mesh;
  /// Called when a listener begins to serve, with OK, and when it stops or does not begin to, with the reason
  /// (gRFC A36): first when that is known, then upon each change. On loop 0 of the server's runtime; it must
  /// not block or throw. Not called after the server began to drain. Without it, the changes are lines in the
  /// log. Default: none.
  std::function<void(const net::address& listener, const status& serving)> on_serving_change;
  /// How long calls may go on after the control plane has changed the filter chains of their connection.
  /// Default: 10 min, as in other implementations of gRPC.
  duration drain_grace = std::chrono::minutes(10);
};
static_assert(!std::is_aggregate_v<xds_server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Makes listeners of a server that a control plane configures (gRFC A36).
///
///   coracle::server server(runtime);
///   server.add(service);
///   coracle::xds_server mesh(server);
///   mesh.listen("0.0.0.0:50051", coracle::xds_server_credentials(coracle::insecure())).throw_if_error();
///
/// Each listener subscribes to the Listener of its address's name, over a connection to the control plane
/// from loop 0 that the listeners of the runtime with the same bootstrap and options share (gRFC A71). It
/// closes connections at once until that is known, while it is missing, and if none of its filter chains is
/// for them. A call whose route is missing, or has another action than non_forwarding_action, fails with
/// UNAVAILABLE. When the filter chains change, connections that were
/// accepted before get GOAWAY, and their calls have drain_grace to end. Other routes are used for the next
/// calls of all connections. If the control plane cannot be reached, or sends something invalid, what it sent
/// before stays in use.
///
/// The object may be destroyed before the server; its listeners stay with the server.
class xds_server {
 public:
  /// Adds an interceptor to `on`, which must outlive this object. Call it before the first server::listen().
  explicit xds_server(server& on, xds_server_options options = {});

  /// Listens as server::listen() does, on an IP address. With xds_server_credentials() the filter chains may
  /// configure TLS; others are for all connections. Fails with FAILED_PRECONDITION if the bootstrap is
  /// missing or invalid, and with INVALID_ARGUMENT for UNIX sockets.
  status listen(std::string_view address, server_credentials credentials);

 private:
  server& on_;
  std::shared_ptr<const xds::inbound_options> options_;
};

}  // namespace coracle
