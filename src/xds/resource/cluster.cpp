#include "xds/resource/cluster.hpp"

#include "base/printable.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/cluster.pb.h"

#include <algorithm>

namespace coracle::xds {

namespace {

constexpr std::string_view aggregate_type = "envoy.clusters.aggregate";

socket_address dns_name_of(const wire::ClusterLoadAssignment& from, const field_path& at) {
  if (from.endpoints_size() != 1) at.refuse("must have exactly one locality");
  if (from.endpoints(0).lb_endpoints_size() != 1)
    at.at("endpoints", std::size_t{0}).refuse("must have exactly one endpoint");
  const wire::Address& address = from.endpoints(0).lb_endpoints(0).endpoint().address();
  const field_path locality_at = at.at("endpoints", std::size_t{0});
  const field_path endpoint_at = locality_at.at("lb_endpoints", std::size_t{0});
  if (!address.socket_address().resolver_name().empty())
    endpoint_at.at("endpoint.address.socket_address.resolver_name").refuse("is not supported");
  return read_address(address, endpoint_at.at("endpoint.address"));
}

std::variant<cluster::eds, socket_address, cluster::aggregate> discovery_of(const wire::Cluster& from,
                                                                            const field_path& at) {
  constexpr int logical_dns = 2;
  constexpr int eds = 3;
  if (from.has_cluster_type()) {
    if (from.cluster_type().name() != aggregate_type ||
        type_of(from.cluster_type().typed_config()) != "envoy.extensions.clusters.aggregate.v3.ClusterConfig")
      at.at("cluster_type")
          .refuse("is an unsupported cluster type: " + base::printable(from.cluster_type().name()));
    const auto config = unpacked<wire::AggregateCluster>(from.cluster_type().typed_config(),
                                                         at.at("cluster_type.typed_config"));
    if (config.clusters_size() == 0) at.at("cluster_type.typed_config.clusters").refuse("must not be empty");
    return cluster::aggregate{{config.clusters().begin(), config.clusters().end()}};
  }
  if (from.type() == eds) {
    require_same_stream(from.eds_cluster_config().eds_config(), at.at("eds_cluster_config.eds_config"));
    std::string name = from.eds_cluster_config().service_name();
    if (name.empty() && from.name().starts_with("xdstp:"))
      at.at("eds_cluster_config.service_name")
          .refuse("must be set, as the name of the cluster begins with \"xdstp:\"");
    return cluster::eds{name.empty() ? from.name() : std::move(name)};
  }
  if (from.type() == logical_dns) {
    if (!from.has_load_assignment()) at.refuse("has no load_assignment, which LOGICAL_DNS requires");
    return dns_name_of(from.load_assignment(), at.at("load_assignment"));
  }
  at.at("type").refuse("is an unsupported cluster type: " + std::to_string(from.type()));
}

std::uint32_t percentage_of(const google::protobuf::UInt32Value& v, const field_path& at) {
  if (v.value() > 100) at.refuse("must be at most 100");
  return v.value();
}

outlier_detection outliers_of(const wire::OutlierDetection& from, const field_path& at) {
  outlier_detection to;
  if (from.has_interval()) to.interval = duration_of(from.interval(), at.at("interval"));
  if (from.has_base_ejection_time())
    to.base_ejection_time = duration_of(from.base_ejection_time(), at.at("base_ejection_time"));
  to.max_ejection_time = std::max(to.max_ejection_time, to.base_ejection_time);
  if (from.has_max_ejection_time())
    to.max_ejection_time = duration_of(from.max_ejection_time(), at.at("max_ejection_time"));
  if (from.has_max_ejection_percent())
    to.max_ejection_percent = percentage_of(from.max_ejection_percent(), at.at("max_ejection_percent"));
  const auto or_default = [](bool has, const google::protobuf::UInt32Value& v, std::uint32_t otherwise) {
    return has ? v.value() : otherwise;
  };
  const std::uint32_t rate =
      from.has_enforcing_success_rate()
          ? percentage_of(from.enforcing_success_rate(), at.at("enforcing_success_rate"))
          : 100;
  if (rate > 0) {
    to.success_rate = {
        or_default(from.has_success_rate_stdev_factor(), from.success_rate_stdev_factor(), 1900), rate,
        or_default(from.has_success_rate_minimum_hosts(), from.success_rate_minimum_hosts(), 5),
        or_default(from.has_success_rate_request_volume(), from.success_rate_request_volume(), 100)};
  }
  const std::uint32_t threshold =
      from.has_failure_percentage_threshold()
          ? percentage_of(from.failure_percentage_threshold(), at.at("failure_percentage_threshold"))
          : 85;
  const std::uint32_t failures =
      percentage_of(from.enforcing_failure_percentage(), at.at("enforcing_failure_percentage"));
  if (failures > 0) {
    to.failure_percentage = {
        threshold, failures,
        or_default(from.has_failure_percentage_minimum_hosts(), from.failure_percentage_minimum_hosts(), 5),
        or_default(from.has_failure_percentage_request_volume(), from.failure_percentage_request_volume(),
                   50)};
  }
  return to;
}

void read_transport(const wire::TransportSocket& outer, const certificate_providers& has,
                    regex_allowance& regexes, const field_path& at, cluster& to) {
  wire::TransportSocket socket = outer;
  if (type_of(outer.typed_config()) ==
      "envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport") {
    const auto proxy = unpacked<wire::HttpProxyTransport>(outer.typed_config(), at.at("typed_config"));
    to.through_proxy = true;
    if (!proxy.has_transport_socket()) return;
    socket = proxy.transport_socket();
  }
  if (socket.name() != "envoy.transport_sockets.tls")
    at.refuse("has an unsupported name: " + base::printable(socket.name()));
  if (type_of(socket.typed_config()) != "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext")
    at.at("typed_config")
        .refuse("is of an unexpected type: " + base::printable(type_of(socket.typed_config())));
  const field_path config = at.at("typed_config");
  to.tls = read_upstream_tls(unpacked<wire::UpstreamTlsContext>(socket.typed_config(), config), has, regexes,
                             config);
}

void read_circuit_breakers(const wire::CircuitBreakers& from, const field_path& at, cluster& to) {
  constexpr int default_priority = 0;
  for (const wire::Thresholds& t : from.thresholds()) {
    if (t.priority() != default_priority) continue;
    if (t.has_max_requests()) to.max_requests = t.max_requests().value();
    break;
  }
  for (const wire::Thresholds& t : from.per_host_thresholds()) {
    if (t.priority() != default_priority) continue;
    if (t.has_max_connections()) {
      if (t.max_connections().value() == 0)
        at.at("per_host_thresholds.max_connections").refuse("must be more than 0");
      to.max_connections_per_endpoint = t.max_connections().value();
    }
    break;
  }
}

duration idle_timeout_of(const wire::Extension& from, duration unless_set, const field_path& at) {
  constexpr std::string_view of_http = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
  const field_path config = at.at("typed_config");
  if (type_of(from.typed_config()) != of_http)
    config.refuse("is of an unexpected type: " + base::printable(type_of(from.typed_config())));
  const auto options = unpacked<wire::UpstreamHttpOptions>(from.typed_config(), config);
  if (!options.common_http_protocol_options().has_idle_timeout()) return unless_set;
  return duration_of(options.common_http_protocol_options().idle_timeout(),
                     config.at("common_http_protocol_options.idle_timeout"));
}

}  // namespace

cluster read_cluster(const wire::Cluster& from, const certificate_providers& has,
                     const custom_policies& has_custom, regex_allowance& regexes, const field_path& at) {
  cluster to;
  to.name = from.name();
  to.discovery = discovery_of(from, at);
  to.balancing = balancing_config_of(from, has_custom, at);
  read_circuit_breakers(from.circuit_breakers(), at.at("circuit_breakers"), to);
  if (from.has_lrs_server()) {
    if (from.lrs_server().source_case() != wire::ConfigSource::kSelf)
      at.at("lrs_server").refuse("must be self");
    to.reports_load = true;
  }
  to.reported_metrics.assign(from.lrs_report_endpoint_metrics().begin(),
                             from.lrs_report_endpoint_metrics().end());
  if (from.has_outlier_detection())
    to.outlier_detection = outliers_of(from.outlier_detection(), at.at("outlier_detection"));
  if (from.transport_socket_matches_size() > 0) at.at("transport_socket_matches").refuse("must be empty");
  if (from.has_transport_socket())
    read_transport(from.transport_socket(), has, regexes, at.at("transport_socket"), to);
  if (const auto labels = from.metadata().filter_metadata().find("com.google.csm.telemetry_labels");
      labels != from.metadata().filter_metadata().end()) {
    for (const auto& [name, value] : labels->second.fields())
      if (value.has_string_value()) to.telemetry_labels.emplace(name, value.string_value());
  }
  if (from.common_lb_config().has_override_host_status()) {
    to.override_statuses.clear();
    for (const int s : from.common_lb_config().override_host_status().statuses())
      for (const health h : {health::unknown, health::healthy, health::draining})
        if (s == static_cast<int>(h)) to.override_statuses.push_back(h);  // others have no effect
  }
  if (from.has_upstream_config())
    to.idle_timeout = idle_timeout_of(from.upstream_config(), to.idle_timeout, at.at("upstream_config"));
  return to;
}

}  // namespace coracle::xds
