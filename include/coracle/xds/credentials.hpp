// xds_credentials, xds_server_credentials: leave it to a control plane how connections are secured.
#pragma once

#include "coracle/security/credentials.hpp"

namespace coracle {

/// Makes credentials for a channel of xds_resolver() whose clusters say how their servers are secured (gRFC
/// A29): with TLS, whose certificates and CAs are those of the `certificate_providers` of the bootstrap, and
/// the names of servers those that the cluster accepts. The connections to servers of a cluster that says
/// nothing have `fallback`, and so has every connection of a channel that no control plane configures.
///
/// Without these credentials, a channel has its own ones for all servers, whatever the control plane says.
///
/// fallback: insecure() for plaintext, or tls::client_options(). If they hold an error, the result holds it.
/// With insecure(), calls with call credentials fail, because some connections may be plaintext.
[[nodiscard]] channel_credentials xds_credentials(channel_credentials fallback);

/// Makes credentials for xds_server::listen() that leave it to the control plane how connections are secured:
/// filter chains of the Listener may have a DownstreamTlsContext, with certificates of the bootstrap's
/// `certificate_providers`. The connections of chains without one have `fallback`.
///
/// fallback: insecure() for plaintext, or tls::server_options(). If they hold an error, the result holds it.
[[nodiscard]] server_credentials xds_server_credentials(server_credentials fallback);

}  // namespace coracle
