// with_consul: targets whose servers are registered in Consul.
#pragma once

#include "coracle/client/channel_options.hpp"
#include "coracle/security/credentials.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace coracle {

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
  /// The token of Consul's access control (X-Consul-Token), which needs service:read and node:read. Default:
  /// none.
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
/// and the weight of its registration (Weights.Passing). The rules of docs/guides/naming.md apply.
///
/// :authority, which TLS verifies, is channel_options::authority, or else the name of the service.
void with_consul(channel_options& to, consul_options options);

}  // namespace coracle
