// Listeners of servers as a control plane sends them, for tests.
#pragma once

#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <cstdint>
#include <string>

namespace coracle::xds::testing_resources {

// A route that accepts every call.
inline wire::RouteConfiguration accepting_routes(const std::string& name) {
  wire::RouteConfiguration r = routes_to(name, "");
  r.mutable_virtual_hosts(0)->mutable_routes(0)->mutable_non_forwarding_action();
  return r;
}

inline void set_manager(wire::FilterChain& to, const wire::HttpConnectionManager& m) {
  to.clear_filters();
  auto* const filter = to.add_filters();
  filter->set_name("manager");
  *filter->mutable_typed_config() = packed(manager_type, m);
}

// Before the router.
inline void add_filter(wire::HttpConnectionManager& to, const std::string& name,
                       const google::protobuf::Any& config) {
  const wire::HttpFilter router = to.http_filters(to.http_filters_size() - 1);
  wire::HttpFilter& filter = *to.mutable_http_filters(to.http_filters_size() - 1);
  filter.set_name(name);
  *filter.mutable_typed_config() = config;
  *to.add_http_filters() = router;
}

inline wire::FilterChain inbound_chain(const std::string& name) {
  wire::HttpConnectionManager m = manager_of_rds("");
  *m.mutable_route_config() = accepting_routes("own");
  wire::FilterChain c;
  c.set_name(name);
  set_manager(c, m);
  return c;
}

inline wire::Listener inbound_listener_at(const std::string& host, std::uint32_t port) {
  wire::Listener l;
  l.set_name("inbound/" + host + ":" + std::to_string(port));
  set_address(*l.mutable_address(), host, port);
  *l.add_filter_chains() = inbound_chain("chain");
  return l;
}

inline wire::DownstreamTlsContext served_by(const std::string& instance) {
  wire::DownstreamTlsContext t;
  t.mutable_common_tls_context()->mutable_tls_certificate_provider_instance()->set_instance_name(instance);
  return t;
}

inline void verify_clients(wire::DownstreamTlsContext& t, const std::string& instance) {
  t.mutable_common_tls_context()
      ->mutable_validation_context()
      ->mutable_ca_certificate_provider_instance()
      ->set_instance_name(instance);
}

inline void set_tls(wire::FilterChain& to, const wire::DownstreamTlsContext& t) {
  to.mutable_transport_socket()->set_name("envoy.transport_sockets.tls");
  *to.mutable_transport_socket()->mutable_typed_config() =
      packed("envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", t);
}

template <class Ranges>
void add_range(Ranges& to, const std::string& address, std::uint32_t bits) {
  auto* const r = to.Add();
  r->set_address_prefix(address);
  r->mutable_prefix_len()->set_value(bits);
}

}  // namespace coracle::xds::testing_resources
