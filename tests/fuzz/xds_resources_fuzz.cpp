// Resources of a control plane: the first byte says of which kind, and whether the rest is one of them or a
// whole response. Each is valid or has an error that says why, and a client that has received it goes on.
// What is valid has no more elements than were counted before it was parsed, and can be used.
#include "base/printable.hpp"
#include "client/naming/service_config_data.hpp"
#include "coracle/rpc/metadata.hpp"
#include "fuzz/wire_mutator.hpp"
#include "rpc/json_document.hpp"
#include "xds/ads/ads_client.hpp"
#include "xds/limits.hpp"
#include "xds/resolving/route_table.hpp"
#include "xds/resource/element_count.hpp"
#include "xds/routing/headers_of_call.hpp"
#include "xds/routing/route_lookup.hpp"
#include "xds/wire/discovery.pb.h"

#include <google/protobuf/stubs/logging.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

using namespace coracle;
using namespace coracle::xds;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

constexpr std::string_view watched_name = "name";
constexpr server_id plane{0};

std::shared_ptr<const bootstrap> bootstrap_of_test() {
  auto parsed = parse_bootstrap(R"({
    "xds_servers":[{"server_uri":"p:1","channel_creds":[{"type":"insecure"}],"server_features":["trusted_xds_server"]}],
    "certificate_providers":{"known":{"plugin_name":"file_watcher","config":{"ca_certificate_file":"/ca"}}}})");
  require(parsed.ok());
  return std::make_shared<const bootstrap>(*std::move(parsed));
}

// A policy of a program, which takes each configuration that has a member "f".
std::optional<status> accept_policy(std::string_view name, std::string_view config) {
  const rpc::json_document document(config);
  require(document.whole().is_object() || document.whole().is_null());
  if (name != "my.Policy") return std::nullopt;
  return config.find("\"f\"") != config.npos ? status() : status::invalid_argument("has no \"f\"");
}

void require_text(const status& s) {
  require(!s.ok() && !s.message().empty());
  require(base::printable(s.message(), s.message().size()) == s.message());
}

// --- What the plain structs have.

std::size_t elements_of(const route_configuration& r) {
  std::size_t n = 0;
  for (const virtual_host& h : r.virtual_hosts) {
    n += 1 + h.domains.size() + h.overrides.size();
    for (const route& each : h.routes) {
      n += 1 + each.match.headers.size() + each.action.hash_policies.size() + each.overrides.size();
      // A route with a `cluster` has a list of one.
      for (const weighted_cluster& c : each.action.clusters)
        n += c.overrides.size() + (each.action.clusters.size() > 1 ? 1 : 0);
    }
  }
  return n;
}

std::size_t elements_of(const std::variant<std::string, route_configuration>& routes) {
  const auto* const own = std::get_if<route_configuration>(&routes);
  return own ? elements_of(*own) : 0;
}

std::size_t elements_of(const listener& l) {
  std::size_t n = elements_of(l.routes) + l.filters.size();
  if (!l.inbound) return n;
  for (const filter_chain& c : l.inbound->chains)
    n += elements_of(c.manager.routes) + c.manager.filters.size();
  return n;
}

std::size_t elements_of(const cluster& c) {
  std::size_t n = c.reported_metrics.size() + c.telemetry_labels.size();
  if (const auto* const many = std::get_if<cluster::aggregate>(&c.discovery)) n += many->clusters.size();
  if (c.tls) n += c.tls->subject_names.size();
  return n;
}

std::size_t elements_of(const cluster_endpoints& e) {
  std::size_t n = e.drops.size();
  for (const auto& level : e.priorities)
    for (const locality_endpoints& l : level)
      for (const endpoint& each : l.endpoints) n += each.addresses.size();
  return n;
}

// --- How they are used.

void use(const route_configuration& r) {
  const auto draw = [](std::uint64_t below) { return below - 1; };
  metadata sent;
  sent.add("x", "1");
  sent.add("x", "two");
  sent.add("y", "/a/b");
  const headers_of_call headers(sent);
  for (const std::string_view authority : {"name", "a.example:80", "API.example"}) {
    const virtual_host* const host = find_virtual_host(r, authority);
    if (!host) continue;
    path_cache cache;
    for (const std::string_view path : {"/a/b", "/coracle.Echo/Say", "/", ""}) {
      const route_request call{path, headers};
      const route* const found = find_route(*host, call, draw);
      if (!path.empty()) require(find_route(*host, call, draw, cache.fitting(*host, path)) == found);
      if (!found || found->kind != route::action_kind::forward) continue;
      const weighted_cluster& to = choose_cluster(found->action, draw);
      require(to.weight > 0 && &to == &found->action.clusters.back());
      require(hash_of_call(found->action.hash_policies, headers, 7) ==
              hash_of_call(found->action.hash_policies, headers, 7));
    }
  }
}

void use(const std::variant<std::string, route_configuration>& routes) {
  if (const auto* const own = std::get_if<route_configuration>(&routes)) use(*own);
  else require(!std::get<std::string>(routes).empty());
}

void use(const listener& l) {
  if (!l.inbound) return use(l.routes);
  static const net::address local = net::address::parse("10.0.0.1:80").value();
  for (const std::string_view peer : {"10.0.0.1:1", "[2001::1]:1", "127.0.0.1:2", "192.168.1.1:3"})
    if (const filter_chain* const c = l.inbound->find(local, net::address::parse(peer).value()))
      use(c->manager.routes);
}

void use(const cluster& c) {
  const rpc::json_document policy(c.balancing);
  if (!policy.whole().is_array()) return;  // nested deeper than a document may be
  require(policy.whole().size() == 1 && policy.whole()[0].size() == 1);
  require(c.max_connections_per_endpoint != std::optional<std::uint32_t>(0));
  // A policy that the library does not have in service configs is rejected by a text, and no other way.
  const auto config = client::parse_service_config("{\"loadBalancingConfig\":" + c.balancing + "}");
  if (!config) require(config.status().code() == status_code::invalid_argument);
}

void use(const cluster_endpoints& e) {
  for (const auto& level : e.priorities) {
    require(!level.empty());
    std::uint64_t localities = 0;
    for (const locality_endpoints& l : level) {
      localities += l.weight;
      std::uint64_t endpoints = 0;
      for (const endpoint& each : l.endpoints) {
        require(!each.addresses.empty() && each.addresses.size() <= limits::addresses_per_endpoint_max);
        require(each.weight > 0 && each.hash_key.size() <= limits::hash_key_bytes_max);
        endpoints += each.weight;
      }
      require(l.weight > 0 && endpoints <= std::uint32_t(-1));
    }
    require(localities <= std::uint32_t(-1));
  }
  for (const drop_category& d : e.drops)
    require(d.millionths <= 1'000'000 && d.category.size() <= limits::category_bytes_max);
}

template <class T>
void look_at(const result<std::shared_ptr<const T>>& parsed, const result<resource>& of_response,
             resource_kind kind, std::string_view bytes) {
  require(parsed.ok() == of_response.ok());
  if (!parsed) {
    require_text(parsed.status());
    require(parsed.status().code() == status_code::invalid_argument);
    return;
  }
  require(**parsed == *std::get<std::shared_ptr<const T>>(*of_response));
  require(!(*parsed)->name.empty());
  require(elements_of(**parsed) <= element_count(kind, bytes));
  use(**parsed);
}

void look_at_resource(resource_kind kind, const received_resource& from, const resource_rules& rules) {
  const std::string_view bytes = from.bytes;
  switch (kind) {
    case resource_kind::listener: return look_at(parse_listener(bytes, rules), from.content, kind, bytes);
    case resource_kind::route_configuration:
      return look_at(parse_route_configuration(bytes, rules), from.content, kind, bytes);
    case resource_kind::cluster: return look_at(parse_cluster(bytes, rules), from.content, kind, bytes);
    default: return look_at(parse_endpoints(bytes, rules), from.content, kind, bytes);
  }
}

// A client that waits for it: says yes or no to each response, in a text of a bounded size.
class waiting_client {
 public:
  explicit waiting_client(bool serves)
      : client_(bootstrap_of_test(), {"agent", "1", {}, &accept_policy, serves}) {
    for (const resource_kind kind : resource_kinds) (void)client_.watch(kind, watched_name);
    require(client_.next_command(now_).has_value());
    client_.stream_opened(plane, now_);
    drain();
  }

  [[nodiscard]] resource_rules rules() const { return client_.rules_of(plane); }
  void receive(std::string_view bytes) {
    auto read = read_response(bytes, client_.rules_of(plane));
    if (!read) {
      require_text(read.status());
      return;
    }
    const bool is_known = read->kind.has_value();
    client_.received(plane, *std::move(read), now_);
    now_ += std::chrono::seconds(2);
    client_.advance(now_);
    require(drain() == (is_known ? 1u : 0u));
    client_.visit([](const resource_dump& d) {
      require(d.name == watched_name);
      // What was valid is kept as it came.
      if (d.state == cache_state::acked) require(!d.bytes.empty() && d.error.ok());
      if (d.state == cache_state::nacked) require_text(d.error);
    });
  }

 private:
  // Returns how many requests it sends.
  std::size_t drain() {
    std::size_t requests = 0;
    while (const auto request = client_.next_request(plane, now_)) {
      ++requests;
      require(request->error_detail().message().size() <= limits::nack_text_bytes_max);
    }
    while (const auto e = client_.next_event()) {
      if (e->what == watch_event::kind::changed) require(e->resource && e->reason.ok());
      if (e->what == watch_event::kind::error) require_text(e->reason);
    }
    while (const auto n = client_.next_note()) require(base::printable(n->text, n->text.size()) == n->text);
    while (client_.next_client_event()) {
    }
    return requests;
  }

  time_point now_{};
  ads_client client_;
};

std::string response_of(resource_kind kind, std::string_view resource) {
  wire::DiscoveryResponse response;
  response.set_type_url(type_url(kind));
  response.set_version_info("1");
  response.set_nonce("n");
  auto& any = *response.add_resources();
  any.set_type_url(type_url(kind));
  any.set_value(std::string(resource));
  return response.SerializeAsString();
}

}  // namespace

// The first byte stays as it is, as a rule.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  if (size < 1 || max_size < 2 || seed % 64 == 0) return LLVMFuzzerMutate(data, size, max_size);
  return 1 + fuzz::mutate_message(data + 1, size - 1, max_size - 1, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const google::protobuf::LogSilencer silent;
  if (size < 1) return 0;
  const auto kind = resource_kinds[data[0] & 3];
  const bool serves = (data[0] & 4) != 0;
  const bool is_response = (data[0] & 8) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string response = is_response ? std::string(text) : response_of(kind, text);

  waiting_client client(serves);
  resource_rules rules = client.rules();
  rules.is_watched = {};  // those with another name are read, too
  if (const auto read = read_response(response, rules); read && read->kind) {
    for (const received_resource& each : read->resources) {
      // One of another type, or that occurs twice, has an error whatever it contains.
      if (!is_response) look_at_resource(*read->kind, each, rules);
      else if (!each.content.ok()) require_text(each.content.status());
    }
  }
  client.receive(response);
  client.receive(response);
  return 0;
}
