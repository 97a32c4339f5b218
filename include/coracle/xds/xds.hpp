// xds_resolver: channels whose servers, routes and balancing a control plane configures. Link coracle::xds.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/xds/xds_filter.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coracle {

/// Makes a balancing policy of the program's from its configuration, a JSON object. An error rejects the
/// Cluster that has it.
using balancing_maker = std::function<result<balancing>(std::string_view config)>;
/// Such policies by their names.
using balancing_makers = std::map<std::string, balancing_maker, std::less<>>;

/// The options of xds_resolver().
class xds_options {
 public:
  /// The bootstrap of the environment.
  xds_options() noexcept {}

  /// Who the control planes are: a bootstrap in JSON (gRFC A27). If it is empty, that of the file that the
  /// environment variable GRPC_XDS_BOOTSTRAP names, or else the text of GRPC_XDS_BOOTSTRAP_CONFIG. It is read
  /// when a channel begins to resolve; if it is missing or invalid, calls fail with UNAVAILABLE.
  std::string bootstrap;
  /// Replaces the credentials of control planes whose channel_creds in the bootstrap are "tls" (gRFC A65).
  /// Default: none, and the bootstrap's files are used: the certificate of the client, and the CAs, which are
  /// those of the system without a file. Control planes with "insecure" are connected to in plaintext.
  std::optional<channel_credentials> control_plane_tls;
  /// The policies of the program's that control planes may choose for the servers of a Cluster (gRFC A52):
  /// its load_balancing_policy has an xds.type.v3.TypedStruct, whose type_url ends with the policy's name
  /// after the last "/", and whose value is the configuration; alone, or below WrrLocality. Called on the
  /// loop of the first of the channels that share a client of control planes, when the Cluster arrives; all
  /// use the result. A function must not block. Default: none.
  balancing_makers policies;
  /// Kinds of HTTP filters, beside those that the library knows (gRFC A39): a control plane may then list
  /// them in Listeners, with overrides in routes. Default: none, and a Listener with another filter that is
  /// not optional is rejected.
  std::vector<std::shared_ptr<const xds_filter_type>> filters;
};
static_assert(!std::is_aggregate_v<xds_options>, "GCC 12 destroys aggregates in co_await expressions twice");

/// Makes the resolvers of targets such as "xds:///name", for channel_options::add_resolver("xds", ...).
///
/// A channel subscribes to the Listener of its target's name at the control plane, and to everything that it
/// refers to, over a connection that all channels of its runtime with the same target, bootstrap and options
/// share (gRFC A71). Options are the same if they are those of one call of this function, or if none of them
/// but the bootstrap is set. What they share lives on a loop of the first of them, until the last one closes.
///
/// Calls follow the routes, timeouts and retries of the RouteConfiguration, and the balancing policies,
/// priorities, localities, drops and outlier detection of the clusters. Calls wait until all of it is known.
/// A call without a route, or of a cluster that is missing, fails with UNAVAILABLE, as does each call while
/// the Listener or the RouteConfiguration is missing; the text names the resource. Connections to servers
/// have the channel's credentials, unless these are xds_credentials(): then clusters may configure TLS. If
/// the control plane cannot be reached, or sends something invalid, what it sent before stays in use.
[[nodiscard]] client::resolver_maker xds_resolver(xds_options options = {});

}  // namespace coracle
