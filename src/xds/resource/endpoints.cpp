#include "xds/resource/endpoints.hpp"

#include "base/printable.hpp"
#include "coracle/net/address.hpp"
#include "xds/limits.hpp"
#include "xds/resource/wire_values.hpp"
#include "xds/wire/endpoint.pb.h"

#include <algorithm>
#include <map>
#include <set>

namespace coracle::xds {

namespace {

// An address whose host is an IP address, and its value: one IPv6 address has many texts.
struct ip_address {
  socket_address text;
  net::address value;
};

ip_address read_ip_address(const wire::Address& from, const field_path& at) {
  socket_address text = read_address(from, at);
  const bool is_ipv6 = text.host.find(':') != std::string::npos;
  auto value =
      net::address::parse((is_ipv6 ? "[" + text.host + "]" : text.host) + ":" + std::to_string(text.port));
  if (!value || !value->is_ip())
    at.at("socket_address.address").refuse("is not an IP address: " + base::printable(text.host));
  return {std::move(text), *std::move(value)};
}

constexpr std::string_view proxy_key = "envoy.http11_proxy_transport_socket.proxy_address";

std::optional<socket_address> proxy_of(const wire::Metadata& m, const field_path& at) {
  const auto found = m.typed_filter_metadata().find(std::string(proxy_key));
  if (found == m.typed_filter_metadata().end()) return std::nullopt;
  const field_path here = at.at("typed_filter_metadata", proxy_key);
  if (type_of(found->second) != "envoy.config.core.v3.Address")
    here.refuse("is no envoy.config.core.v3.Address");
  return read_ip_address(unpacked<wire::Address>(found->second, here), here).text;
}

std::string hash_key_of(const wire::Metadata& m) {
  const auto found = m.filter_metadata().find("envoy.lb");
  if (found == m.filter_metadata().end()) return {};
  const auto key = found->second.fields().find("hash_key");
  return key == found->second.fields().end() ? std::string() : key->second.string_value();
}

class endpoints_reader {
 public:
  [[nodiscard]] endpoint read(const wire::LbEndpoint& from, const field_path& at) {
    endpoint to;
    if (!from.endpoint().has_address()) at.at("endpoint").refuse("has no address");
    add(from.endpoint().address(), to, at.at("endpoint.address"));
    const int more = from.endpoint().additional_addresses_size();
    if (static_cast<std::size_t>(more) >= limits::addresses_per_endpoint_max)
      at.at("endpoint.additional_addresses")
          .refuse("has " + std::to_string(more) + " addresses beside the first one, limit of all is " +
                  std::to_string(limits::addresses_per_endpoint_max));
    for (int i = 0; i < more; ++i) {
      const field_path here = at.at("endpoint.additional_addresses", static_cast<std::size_t>(i));
      add(from.endpoint().additional_addresses(i).address(), to, here);
    }
    // A status that this library does not know is not usable.
    const int status = from.health_status();
    to.health = status >= 0 && status <= 5 ? static_cast<health>(status) : health::unhealthy;
    if (from.has_load_balancing_weight()) to.weight = from.load_balancing_weight().value();
    if (to.weight == 0) at.at("load_balancing_weight").refuse("must be more than 0");
    to.hostname = from.endpoint().hostname();
    to.hash_key = hash_key_of(from.metadata());
    if (to.hash_key.size() > limits::hash_key_bytes_max)
      at.at("metadata")
          .refuse("has a hash_key of more than " + std::to_string(limits::hash_key_bytes_max) + " bytes");
    to.proxy = proxy_of(from.metadata(), at.at("metadata"));
    return to;
  }

 private:
  void add(const wire::Address& from, endpoint& to, const field_path& at) {
    ip_address one = read_ip_address(from, at);
    if (!addresses_.insert(std::move(one.value)).second)
      at.refuse("occurs twice: " + one.text.host + " port " + std::to_string(one.text.port));
    to.addresses.push_back(std::move(one.text));
  }

  std::set<net::address> addresses_;
};

}  // namespace

socket_address read_address(const wire::Address& from, const field_path& at) {
  const wire::SocketAddress& s = from.socket_address();
  if (!from.has_socket_address()) at.refuse("has no socket_address");
  if (s.address().empty()) at.at("socket_address.address").refuse("must not be empty");
  if (s.address().size() > limits::host_bytes_max)
    at.at("socket_address.address")
        .refuse("must have at most " + std::to_string(limits::host_bytes_max) + " bytes");
  if (s.port_case() != wire::SocketAddress::kPortValue) at.at("socket_address").refuse("has no port_value");
  if (s.port_value() > 65535) at.at("socket_address.port_value").refuse("must be at most 65535");
  return {s.address(), static_cast<std::uint16_t>(s.port_value())};
}

cluster_endpoints read_endpoints(const wire::ClusterLoadAssignment& from, const field_path& at) {
  cluster_endpoints to;
  to.name = from.cluster_name();
  for (int i = 0; i < from.policy().drop_overloads_size(); ++i) {
    const wire::DropOverload& d = from.policy().drop_overloads(i);
    const field_path here = at.at("policy.drop_overloads", static_cast<std::size_t>(i));
    if (d.category().size() > limits::category_bytes_max)
      here.at("category").refuse("has more than " + std::to_string(limits::category_bytes_max) + " bytes");
    const std::uint64_t share = millionths_of(d.drop_percentage(), here.at("drop_percentage"));
    to.drops.push_back({d.category(), static_cast<std::uint32_t>(std::min<std::uint64_t>(share, million))});
  }

  std::map<std::uint32_t, std::vector<locality_endpoints>> by_priority;
  std::set<std::pair<std::uint32_t, locality>> localities;
  std::map<std::uint32_t, std::uint64_t> weights;
  endpoints_reader reader;
  for (int i = 0; i < from.endpoints_size(); ++i) {
    const wire::LocalityEndpoints& l = from.endpoints(i);
    const field_path here = at.at("endpoints", static_cast<std::size_t>(i));
    if (!l.has_locality()) here.refuse("has no locality");
    if (l.load_balancing_weight().value() == 0) continue;
    locality_endpoints one{locality_of(l.locality()), l.load_balancing_weight().value(), {}, {}};
    if (!localities.emplace(l.priority(), one.locality).second)
      here.at("locality").refuse("occurs twice in priority " + std::to_string(l.priority()));
    if ((weights[l.priority()] += one.weight) > weight_sum_max)
      here.refuse("makes the sum of weights of priority " + std::to_string(l.priority()) +
                  " exceed 4294967295");
    one.proxy = proxy_of(l.metadata(), here.at("metadata"));
    if (l.has_leds_cluster_locality_config())
      here.at("leds_cluster_locality_config")
          .refuse("is not supported: send the endpoints in lb_endpoints or load_balancer_endpoints");
    // gRFC A95: the list replaces the field.
    const bool has_list = l.has_load_balancer_endpoints();
    const auto& listed = has_list ? l.load_balancer_endpoints().lb_endpoints() : l.lb_endpoints();
    const std::string_view name = has_list ? "load_balancer_endpoints.lb_endpoints" : "lb_endpoints";
    std::uint64_t sum = 0;
    for (int j = 0; j < listed.size(); ++j) {
      endpoint e = reader.read(listed.at(j), here.at(name, static_cast<std::size_t>(j)));
      if ((sum += e.weight) > weight_sum_max)
        here.refuse("has endpoints whose sum of weights exceeds 4294967295");
      one.endpoints.push_back(std::move(e));
    }
    by_priority[l.priority()].push_back(std::move(one));
  }
  for (auto& [priority, list] : by_priority) {
    if (priority != to.priorities.size())
      at.at("endpoints").refuse("priority " + std::to_string(to.priorities.size()) + " missing");
    to.priorities.push_back(std::move(list));
  }
  return to;
}

}  // namespace coracle::xds
