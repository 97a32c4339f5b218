// cluster: where the endpoints of a cluster come from, and how calls use them
// (envoy.config.cluster.v3.Cluster).
#pragma once

#include "coracle/base/clock.hpp"
#include "xds/resource/balancing_config.hpp"
#include "xds/resource/endpoints.hpp"
#include "xds/resource/upstream_tls.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace coracle::xds {

namespace wire {
class Cluster;
}

// gRFC A50
struct outlier_detection {
  struct rule {
    std::uint32_t threshold =
        0;  // of success rates: thousandths of the standard deviation; of failures: a percentage
    std::uint32_t enforcement_percent = 0;
    std::uint32_t minimum_hosts = 0;
    std::uint32_t request_volume = 0;

    friend bool operator==(const rule&, const rule&) = default;
  };

  duration interval = std::chrono::seconds(10);
  duration base_ejection_time = std::chrono::seconds(30);
  duration max_ejection_time = std::chrono::seconds(300);
  std::uint32_t max_ejection_percent = 10;
  std::optional<rule> success_rate;
  std::optional<rule> failure_percentage;

  friend bool operator==(const outlier_detection&, const outlier_detection&) = default;
};

struct cluster {
  // Endpoints of the control plane. The name is that of the cluster if it has no other.
  struct eds {
    std::string service_name;

    friend bool operator==(const eds&, const eds&) = default;
  };
  // Other clusters, the highest priority first (gRFC A37).
  struct aggregate {
    std::vector<std::string> clusters;

    friend bool operator==(const aggregate&, const aggregate&) = default;
  };

  std::string name;
  std::variant<eds, socket_address, aggregate> discovery;  // a socket_address is that of LOGICAL_DNS
  std::string balancing;  // the loadBalancingConfig of a service config, with one policy
  std::uint32_t max_requests = 1024;  // at a time (gRFC A32)
  std::optional<std::uint32_t> max_connections_per_endpoint;  // gRFC A105
  std::optional<xds::outlier_detection> outlier_detection;
  bool reports_load = false;  // to the control plane that the cluster comes from
  std::vector<std::string> reported_metrics;  // gRFC A85
  std::optional<upstream_tls> tls;
  bool through_proxy = false;  // that an endpoint may name (gRFC A86)
  std::map<std::string, std::string> telemetry_labels;
  std::vector<health> override_statuses = {health::unknown, health::healthy};  // gRFC A55
  // How long connections that no session has used are kept for sessions alone (gRFC A75).
  duration idle_timeout = std::chrono::hours(1);

  friend bool operator==(const cluster&, const cluster&) = default;
};

// Throws invalid_resource.
[[nodiscard]] cluster read_cluster(const wire::Cluster& from, const certificate_providers& has,
                                   const custom_policies& has_custom, regex_allowance& regexes,
                                   const field_path& at);

}  // namespace coracle::xds
