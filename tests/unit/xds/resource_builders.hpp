// Resources as a control plane sends them, for tests.
#pragma once

#include "xds/resource/resource.hpp"
#include "xds/wire/cluster.pb.h"
#include "xds/wire/discovery.pb.h"
#include "xds/wire/endpoint.pb.h"
#include "xds/wire/listener.pb.h"
#include "xds/wire/route.pb.h"

#include <string>
#include <string_view>

namespace coracle::xds::testing_resources {

template <class Message>
google::protobuf::Any packed(std::string_view type, const Message& m) {
  google::protobuf::Any any;
  any.set_type_url("type.googleapis.com/" + std::string(type));
  any.set_value(m.SerializeAsString());
  return any;
}

constexpr std::string_view manager_type =
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
constexpr std::string_view router_type = "envoy.extensions.filters.http.router.v3.Router";

inline wire::HttpConnectionManager manager_of_rds(const std::string& route_name) {
  wire::HttpConnectionManager m;
  m.mutable_rds()->mutable_config_source()->mutable_ads();
  m.mutable_rds()->set_route_config_name(route_name);
  auto* const router = m.add_http_filters();
  router->set_name("router");
  *router->mutable_typed_config() = packed(router_type, wire::Router());
  return m;
}

inline wire::Listener listener_with(const std::string& name, const wire::HttpConnectionManager& m) {
  wire::Listener l;
  l.set_name(name);
  *l.mutable_api_listener()->mutable_api_listener() = packed(manager_type, m);
  return l;
}

inline wire::Cluster eds_cluster(const std::string& name, const std::string& service = "") {
  wire::Cluster c;
  c.set_name(name);
  c.set_type(3);
  c.mutable_eds_cluster_config()->mutable_eds_config()->mutable_ads();
  c.mutable_eds_cluster_config()->set_service_name(service);
  return c;
}

// One virtual host "h" for every domain, with one route that takes every path to `cluster`.
inline wire::RouteConfiguration routes_to(const std::string& name, const std::string& cluster) {
  wire::RouteConfiguration r;
  r.set_name(name);
  auto* const host = r.add_virtual_hosts();
  host->set_name("h");
  host->add_domains("*");
  auto* const route = host->add_routes();
  route->mutable_match()->set_prefix("");
  route->mutable_route()->set_cluster(cluster);
  return r;
}

inline void set_address(wire::Address& a, const std::string& host, std::uint32_t port) {
  a.mutable_socket_address()->set_address(host);
  a.mutable_socket_address()->set_port_value(port);
}

inline wire::LocalityEndpoints* add_locality(wire::ClusterLoadAssignment& to, const std::string& zone,
                                             std::uint32_t weight, std::uint32_t priority = 0) {
  auto* const l = to.add_endpoints();
  l->mutable_locality()->set_zone(zone);
  l->mutable_load_balancing_weight()->set_value(weight);
  l->set_priority(priority);
  return l;
}

inline wire::LbEndpoint* add_endpoint(wire::LocalityEndpoints& to, const std::string& host,
                                      std::uint32_t port) {
  auto* const e = to.add_lb_endpoints();
  set_address(*e->mutable_endpoint()->mutable_address(), host, port);
  return e;
}

}  // namespace coracle::xds::testing_resources
