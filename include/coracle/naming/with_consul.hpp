// with_consul, consul_registration: targets whose servers are registered in Consul, and how servers register.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/service.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

class runtime;

/// The options of with_consul(). A value type: set the members that differ from the defaults.
class consul_options {
 public:
  /// consul_server: an agent, normally that of the machine, as a target of a channel: "127.0.0.1:8500" or
  /// "unix:/path". consul_credentials: insecure(), or tls::client_options().
  consul_options(std::string consul_server, channel_credentials consul_credentials)
      : server(std::move(consul_server)), credentials(std::move(consul_credentials)) {}
  /// A target of a channel.
  std::string server;
  /// Of that channel.
  channel_credentials credentials;
  /// The token of Consul's access control (X-Consul-Token), which needs service:read and node:read, and
  /// service:write for a registration. Default: none.
  std::string token;
};
static_assert(!std::is_aggregate_v<consul_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Adds the scheme "consul": a channel to "consul:///movies" uses the instances of a service whose checks all
/// pass, and follows their changes by blocking queries. Link coracle::naming.
///
///     coracle::with_consul(options, {"127.0.0.1:8500", coracle::insecure()});
///     const coracle::channel channel(runtime, "consul:///movies?tag=grpc&dc=west", credentials, options);
///
/// Parameters: `tag`, which instances must have, and which may be repeated; `dc`, the datacenter, by default
/// that of the agent. An instance has its own address, or else that of its node, which must be an IP address,
/// and the weight of its registration (Weights.Passing). Its Meta are attributes of the endpoint. The rules
/// of docs/guides/naming.md apply.
///
/// :authority, which TLS verifies, is channel_options::authority, or else the name of the service.
void with_consul(channel_options& to, consul_options options);

/// Registers a server at an agent of Consul while it serves. It is added to the server like a service, so
/// that it learns when the server leaves. It then removes the server from Consul: new calls go elsewhere
/// while those that are in progress end. Set server_options::leave_time, so that clients learn of it before
/// connections are refused.
///
///     coracle::consul_registration registration({"127.0.0.1:8500", coracle::insecure()});
///     server.add(registration);
///     server.listen("*:50051", credentials);
///     registration.announce(server.owner(), "movies", coracle::client::endpoint(address), {"grpc"});
///
/// The instance has a check with a TTL, which passes as long as the server reports. If the program ends
/// without a drain, the check fails after `lease_time`, and Consul removes the instance a minute later. The
/// registration is repeated until it succeeds, and whenever the agent has lost it. The log has one line for
/// each change. Like a service, the object must outlive the server; its destructor removes the server from
/// Consul, too.
class consul_registration final : public service {
 public:
  /// The time after which a server that does not report no longer passes.
  static constexpr duration lease_time = std::chrono::seconds(15);

  /// Does not connect yet. The server is an agent, which runs the checks of its own instances: that of the
  /// machine.
  explicit consul_registration(consul_options options);
  ~consul_registration() override;
  consul_registration(const consul_registration&) = delete;
  consul_registration& operator=(const consul_registration&) = delete;

  /// Registers `server`, to which clients connect, as an instance of the service `name` with the id
  /// NAME-ADDRESS, its weight (Weights.Passing), its attributes (Meta) and the tags, on a loop of `on`, and
  /// returns at once. A server may have several names and addresses. Nothing is registered after the server
  /// has begun to leave.
  ///
  /// runtime::run() returns after the registration was removed; an agent that does not answer delays that by
  /// 10 s at most. Throws usage_error if the name is empty or has a '/', or the address is no IP address,
  /// stands for all interfaces (0.0.0.0 or [::]), or has the port 0.
  void announce(runtime& on, const std::string& name, const client::endpoint& server,
                const std::vector<std::string>& tags = {});

  /// @cond  For the server.
  [[nodiscard]] method_table methods() const noexcept override { return {}; }
  void leaving() noexcept override;
  void replaced(std::span<const net::address> given_up) noexcept override;
  void resumed() noexcept override;
  /// @endcond

 private:
  class state;
  std::shared_ptr<state> state_;
};

}  // namespace coracle
