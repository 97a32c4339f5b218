// with_kubernetes: targets that are services of Kubernetes.
#pragma once

#include "coracle/client/channel_options.hpp"
#include "coracle/security/credentials.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace coracle {

/// The file with the CA of the API server in each pod.
inline constexpr char kubernetes_ca_file[] = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

/// The options of with_kubernetes(). A value type: set the members that differ from the defaults.
class kubernetes_options {
 public:
  /// api_credentials: for the API server, normally tls::client_options with `kubernetes_ca_file` among its
  /// CAs.
  explicit kubernetes_options(channel_credentials api_credentials)
      : credentials(std::move(api_credentials)) {}
  /// For the API server.
  channel_credentials credentials;
  /// The API server as "host:port". Default: empty, which is KUBERNETES_SERVICE_HOST and
  /// KUBERNETES_SERVICE_PORT of the environment when the channel first resolves.
  std::string api_server;
  /// The file with the token of the service account. It is read for each request, because Kubernetes replaces
  /// the token. With insecure() it is sent to this machine only. Empty: no token is sent. Default: that of a
  /// pod.
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  /// The file with the namespace of the pod, for targets that name none. Default: that of a pod.
  std::string namespace_file = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
  /// The zone of this program's node (topology.kubernetes.io/zone), by which hints of topology-aware routing
  /// are followed. Default: empty, all zones are used.
  std::string zone;
};
static_assert(!std::is_aggregate_v<kubernetes_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Adds the scheme "kubernetes": a channel to "kubernetes:///service.namespace:port" uses the pods of a
/// service directly, without its cluster IP, and follows their changes. Link coracle::naming, and
/// coracle::tls for the API server.
///
///     coracle::tls::client_options api;
///     api.cas = {coracle::tls::pem_source::file(coracle::kubernetes_ca_file)};
///     coracle::with_kubernetes(options, coracle::kubernetes_options(api));
///     const coracle::channel channel(runtime, "kubernetes:///movies.films:grpc", credentials, options);
///
/// The namespace may be left out: it is that of the pod. The port is the name of a port of the service, or
/// the number of a port of its pods (targetPort); without a port it is the first TCP port.
///
/// The channel lists and watches the EndpointSlices of the service (discovery.k8s.io/v1), for which its
/// service account needs the verbs get, list and watch of endpointslices. Pods that are ready get calls; if
/// none is, those that terminate but still serve. Of pods with IPv4 and IPv6 addresses those of IPv4 are
/// used. The rules of docs/guides/naming.md apply.
///
/// :authority, which TLS verifies, is channel_options::authority, or else "service.namespace.svc" ("service"
/// for a target without a namespace).
void with_kubernetes(channel_options& to, kubernetes_options options);

}  // namespace coracle
