// endpoints: the endpoints of a cluster, by priority and locality
// (envoy.config.endpoint.v3.ClusterLoadAssignment; gRFC A27, A61, A76, A86).
#pragma once

#include "xds/bootstrap/bootstrap.hpp"
#include "xds/resource/field_path.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::xds {

namespace wire {
class Address;
class ClusterLoadAssignment;
}  // namespace wire

struct socket_address {
  std::string host;  // an IP address, except of a LOGICAL_DNS cluster
  std::uint16_t port = 0;

  friend bool operator==(const socket_address&, const socket_address&) = default;
  friend auto operator<=>(const socket_address&, const socket_address&) = default;
};

// envoy.config.core.v3.HealthStatus
enum class health : unsigned char { unknown, healthy, unhealthy, draining, timeout, degraded };

struct endpoint {
  std::vector<socket_address> addresses;  // of one server, never empty
  xds::health health = xds::health::unknown;
  std::uint32_t weight = 1;
  std::string hostname;
  std::string hash_key;  // of ring_hash (gRFC A76)
  std::optional<socket_address> proxy;  // its own, for HTTP CONNECT (gRFC A86), instead of the locality's

  // Whether calls may go there. `draining` is for calls that name the endpoint (gRFC A55).
  [[nodiscard]] bool usable() const noexcept {
    return health == xds::health::unknown || health == xds::health::healthy;
  }

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

struct locality_endpoints {
  xds::locality locality;
  std::uint32_t weight = 0;  // never 0
  std::vector<xds::endpoint> endpoints;
  std::optional<socket_address> proxy;  // of the endpoints that have none of their own (gRFC A86)

  // Null if calls to the endpoint, one of these, need no proxy.
  [[nodiscard]] const socket_address* proxy_of(const xds::endpoint& e) const noexcept {
    if (e.proxy) return &*e.proxy;
    return proxy ? &*proxy : nullptr;
  }

  friend bool operator==(const locality_endpoints&, const locality_endpoints&) = default;
};

struct drop_category {
  std::string category;
  std::uint32_t millionths = 0;  // at most a million

  friend bool operator==(const drop_category&, const drop_category&) = default;
};

struct cluster_endpoints {
  std::string name;
  std::vector<std::vector<locality_endpoints>>
      priorities;  // 0 is the highest; empty if there are no endpoints
  std::vector<drop_category> drops;

  friend bool operator==(const cluster_endpoints&, const cluster_endpoints&) = default;
};

// Throws invalid_resource.
[[nodiscard]] cluster_endpoints read_endpoints(const wire::ClusterLoadAssignment& from, const field_path& at);
// The host may be a name.
[[nodiscard]] socket_address read_address(const wire::Address& from, const field_path& at);

}  // namespace coracle::xds
