#include "xds/resolving/policy_tree.hpp"

#include "client/balancing/cluster_manager.hpp"
#include "client/balancing/outlier_detection.hpp"
#include "client/balancing/priority.hpp"
#include "client/balancing/weighted_target.hpp"
#include "client/naming/service_config_data.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/net/address.hpp"
#include "http/field_rules.hpp"
#include "rpc/json_document.hpp"
#include "xds/balancing/failing.hpp"
#include "xds/balancing/override_host.hpp"
#include "xds/balancing/secured.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace coracle::xds {

namespace {

balancing failing_policy(status reason) {
  return balancing(std::make_shared<const failing_config>(std::move(reason)));
}

// The policy of a cluster's servers.
struct leaf_policy {
  balancing policy = balancing::round_robin();
  bool by_locality = false;  // one for each locality, each with its share of the calls
};

result<leaf_policy> leaf_policy_of(const cluster& of, program_policies& of_program) {
  const rpc::json_document document(of.balancing);
  // [{"round_robin":{}}], as the resource was written.
  if (!document.whole().is_array()) return status::unavailable("its policy is nested too deep");
  const nlohmann::json* config = &document.whole();
  auto only = config->at(0).begin();
  leaf_policy found;
  if (only.key() == "xds_wrr_locality_experimental") {
    found.by_locality = true;
    config = &only->at("childPolicy");
    only = config->at(0).begin();
  }
  if (auto custom = of_program.find(only.key(), only->dump())) {
    if (!*custom) return custom->status();
    found.policy = **std::move(custom);
    return found;
  }
  const auto parsed = service_config::parse("{\"loadBalancingConfig\":" + config->dump() + "}");
  if (!parsed) return parsed.status();
  if (!parsed->data().balance) return status::unavailable("it has no policy");
  found.policy = *parsed->data().balance;
  return found;
}

outlier_detection_options outlier_options(const cluster& of, const balancing& leaf) {
  outlier_detection_options to;
  if (!of.outlier_detection) return to;
  const outlier_detection& from = *of.outlier_detection;
  to.interval = from.interval;
  to.base_ejection_time = from.base_ejection_time;
  to.max_ejection_time = from.max_ejection_time;
  to.max_ejection_percent = from.max_ejection_percent;
  if (leaf.config().family() == "pick_first") return to;  // gRFC A61: it would lose its only server
  if (const auto& r = from.success_rate)
    to.success_rate_ejection = {r->threshold, r->enforcement_percent, r->minimum_hosts, r->request_volume};
  if (const auto& r = from.failure_percentage)
    to.failure_percentage_ejection = {r->threshold, r->enforcement_percent, r->minimum_hosts,
                                      r->request_volume};
  return to;
}

std::optional<net::address> address_of(const socket_address& at) {
  const bool is_v6 = at.host.find(':') != at.host.npos;
  auto parsed = net::address::parse((is_v6 ? "[" + at.host + "]" : at.host) + ":" + std::to_string(at.port));
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

std::string name_of(const locality& l) { return l.region + "/" + l.zone + "/" + l.sub_zone; }

constexpr unsigned fraction_bits = 31;

// weight / sum in 31 bits (gRFC A113)
std::uint64_t fraction(std::uint64_t weight, std::uint64_t sum) { return (weight << fraction_bits) / sum; }

// The shares of endpoints in a priority: the share of the locality by the share in the locality.
std::uint32_t share(std::uint64_t of_locality, std::uint64_t in_locality) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>((of_locality * in_locality) >> fraction_bits, 1));
}

// With its own weight; nothing if its first address cannot be parsed.
std::optional<client::endpoint> server_of(const endpoint& e) {
  auto at = address_of(e.addresses.front());
  if (!at) return std::nullopt;
  client::endpoint made(*std::move(at), e.weight);
  made.hash_key(e.hash_key);
  for (std::size_t i = 1; i < e.addresses.size(); ++i)
    if (auto another = address_of(e.addresses[i])) made.add_address(*std::move(another));
  return made;
}

// The servers of a locality.
std::vector<client::endpoint> servers_of(const locality_endpoints& l) {
  std::vector<client::endpoint> servers;
  servers.reserve(l.endpoints.size());
  for (const endpoint& e : l.endpoints)
    if (auto made = e.usable() ? server_of(e) : std::nullopt) servers.push_back(*std::move(made));
  return servers;
}

// Calls f with each endpoint of a cluster and its locality, in the order of their priorities.
template <class F>
void for_each_endpoint(const cluster_endpoints& of, F f) {
  for (const auto& level : of.priorities)
    for (const locality_endpoints& l : level)
      for (const endpoint& e : l.endpoints) f(l, e);
}

session_servers servers_of_sessions(const cluster& config, const cluster_endpoints& of) {
  session_servers to;
  to.idle_timeout = config.idle_timeout;
  for_each_endpoint(of, [&](const locality_endpoints&, const endpoint& e) {
    const auto& statuses = config.override_statuses;
    if (std::ranges::find(statuses, e.health) == statuses.end()) return;
    if (auto server = server_of(e)) to.add(*std::move(server));
  });
  return to;
}

facts_by_server facts_of(const cluster_endpoints& of, bool through_proxy) {
  std::map<net::address, shared_facts> all;
  std::shared_ptr<const server_facts> last;
  for_each_endpoint(of, [&](const locality_endpoints& l, const endpoint& e) {
    server_facts facts{{}, l.locality};
    // What HTTP forbids is no name of a host, and would fail the calls.
    if (http::valid_authority(e.hostname)) facts.hostname = e.hostname;
    if (const socket_address* const proxy = through_proxy ? l.proxy_of(e) : nullptr)
      facts.proxy = address_of(*proxy);
    if (!last || *last != facts) last = std::make_shared<const server_facts>(std::move(facts));
    for (const socket_address& each : e.addresses)
      if (auto at = address_of(each)) all.emplace(*std::move(at), shared_facts{last});
  });
  return facts_by_server(all);
}

std::size_t usable_endpoints(const cluster_endpoints& of) {
  std::size_t n = 0;
  for_each_endpoint(of, [&](const locality_endpoints&, const endpoint& e) { n += e.usable() ? 1 : 0; });
  return n;
}

client::servers_of_child shared(std::vector<client::endpoint> servers) {
  return std::make_shared<const std::vector<client::endpoint>>(std::move(servers));
}

struct level_policy {
  balancing policy;
  client::servers_of_child servers;
};

level_policy level_policy_of(const std::vector<locality_endpoints>& level, const leaf_policy& leaf,
                             const std::string& cluster_name) {
  using client::weighted_target_config;
  std::vector<weighted_target_config::target> targets;
  std::vector<client::endpoint> all;
  std::uint64_t localities = 0;
  for (const locality_endpoints& l : level) localities += l.weight;
  for (const locality_endpoints& l : level) {
    std::vector<client::endpoint> servers = servers_of(l);
    if (servers.empty()) continue;
    if (leaf.by_locality) {
      targets.push_back(
          {name_of(l.locality), l.weight, leaf.policy, shared(std::move(servers)), label_of(l.locality)});
      continue;
    }
    std::uint64_t sum = 0;
    for (const client::endpoint& s : servers) sum += s.weight();
    if (all.empty()) all.reserve(servers.size());
    for (client::endpoint& s : servers) {
      s.set_weight(share(fraction(l.weight, localities), fraction(s.weight(), sum)));
      all.push_back(std::move(s));
    }
  }
  if (targets.empty() && all.empty())
    return {failing_policy(status::unavailable("cluster " + cluster_name +
                                               ": the control plane has no endpoint that can be used")),
            shared({})};
  if (!leaf.by_locality) return {leaf.policy, shared(std::move(all))};
  return {balancing(std::make_shared<const weighted_target_config>(std::move(targets))), shared({})};
}

}  // namespace

policy_tree::built policy_tree::build(const target_state& of) {
  std::erase_if(routed_, [](const auto& entry) { return entry.second.expired(); });
  for (auto& [name, l] : leaves_) l.used = false;
  clusters_by_name clusters;
  const bool has_sessions = of.of && of.has_sessions();
  std::vector<client::cluster_manager_config::cluster> children;
  children.reserve(of.clusters.size());
  for (const target_cluster& c : of.clusters) {
    std::weak_ptr<const client::routed_cluster>& known = routed_[c.name];
    auto route = known.lock();
    if (!route) {
      route = std::make_shared<const client::routed_cluster>(client::routed_cluster{c.name});
      known = route;
    }
    clusters.emplace(c.name, route);
    children.push_back({std::move(route), policy_of(c, has_sessions)});
  }
  std::erase_if(leaves_, [](const auto& entry) { return !entry.second.used; });
  credentials_.end_unused();
  policies_.end_unused();
  return {balancing(std::make_shared<const client::cluster_manager_config>(std::move(children))),
          std::move(clusters)};
}

balancing policy_tree::failing_with(status reason) {
  const auto route = std::make_shared<const client::routed_cluster>();
  return balancing(std::make_shared<const client::cluster_manager_config>(
      std::vector<client::cluster_manager_config::cluster>{{route, failing_policy(std::move(reason))}}));
}

// gRFC A75: an aggregate has a priority for each of its parts, which has its own priorities below.
balancing policy_tree::policy_of(const target_cluster& c, bool has_sessions) {
  if (!c.problem.ok()) return failing_policy(c.problem);
  if (c.leaves.size() == 1 && c.leaves.front().name == c.name)
    return policy_of_leaf(c, c.leaves.front(), has_sessions);
  std::vector<client::priority_config::level> parts;
  for (const leaf_cluster& l : c.leaves)
    parts.push_back({l.name, policy_of_leaf(c, l, has_sessions), shared({})});
  if (parts.empty()) return failing_policy(status::unavailable("cluster " + c.name + " has no clusters"));
  return balancing(std::make_shared<const client::priority_config>(std::move(parts)));
}

balancing policy_tree::policy_of_leaf(const target_cluster& c, const leaf_cluster& l, bool has_sessions) {
  if (!l.problem.ok()) return failing_policy(l.problem);
  const auto fail = [&l](std::string_view why) {
    return failing_policy(status::unavailable(("cluster " + l.name + ": ").append(why)));
  };
  const cluster& config = *l.config;
  const auto leaf = leaf_policy_of(config, policies_);
  if (!leaf) return fail("its balancing policy is not supported: " + std::string(leaf.status().message()));
  if (l.endpoints->priorities.empty()) return fail("the control plane has no endpoints");

  // A control plane updates endpoints by itself; host names are resolved again on request.
  const bool ignores_requests = !std::holds_alternative<socket_address>(config.discovery);
  leaf_levels& names = leaves_[c.name + " " + l.name];
  names.used = true;
  std::vector<named_level> now;
  std::vector<client::priority_config::level> levels;
  for (const auto& level : l.endpoints->priorities) {
    level_policy below = level_policy_of(level, *leaf, l.name);
    levels.push_back({l.name + " " + name_level(names, now, level), std::move(below.policy),
                      std::move(below.servers), ignores_requests});
  }
  names.levels = std::move(now);
  balancing policy(std::make_shared<const client::priority_config>(std::move(levels)));

  if (has_sessions)
    policy = balancing(std::make_shared<const override_host_config>(servers_of_sessions(config, *l.endpoints),
                                                                    std::move(policy)));
  policy = balancing(std::make_shared<const drops_config>(dropping_of(l), std::move(policy)));
  policy = balancing(std::make_shared<const client::outlier_detection_config>(
      outlier_options(config, leaf->policy), std::move(policy), l.name, usable_endpoints(*l.endpoints)));
  return secured_as(config, *l.endpoints, std::move(policy));
}

drops_options policy_tree::dropping_of(const leaf_cluster& l) const {
  const cluster& config = *l.config;
  const auto* const by_eds = std::get_if<cluster::eds>(&config.discovery);
  const std::string service = by_eds && by_eds->service_name != l.name ? by_eds->service_name : "";
  drops_options to;
  to.cluster = l.name;
  to.categories = l.endpoints->drops;
  to.calls_max = config.max_requests;
  to.connections_max =
      std::min(config.max_connections_per_endpoint.value_or(0), channel_options::connections_limit);
  to.calls = calls_in_progress::of(l.name, service);
  if (config.reports_load) to.load = loads_(l.name, service);
  if (to.load) to.load->report_metrics(config.reported_metrics);
  to.servers = facts_of(*l.endpoints, config.through_proxy);
  return to;
}

balancing policy_tree::secured_as(const cluster& config, const cluster_endpoints& endpoints,
                                  balancing policy) {
  if (!config.tls) return policy;
  const auto security = std::make_shared<servers_security>();
  security->usual = credentials_.of(config.name, *config.tls, {});
  for_each_endpoint(endpoints, [&](const locality_endpoints&, const endpoint& e) {
    if (config.tls->sends_hostname && !e.hostname.empty())
      for (const socket_address& each : e.addresses)
        if (auto at = address_of(each))
          security->others.emplace(*std::move(at), credentials_.of(config.name, *config.tls, e.hostname));
  });
  return balancing(std::make_shared<const secured_config>(security, std::move(policy)));
}

std::string policy_tree::name_level(leaf_levels& of, std::vector<named_level>& now,
                                    const std::vector<locality_endpoints>& level) const {
  std::set<locality> localities;
  for (const locality_endpoints& l : level) localities.insert(l.locality);
  const auto common = std::find_if(of.levels.begin(), of.levels.end(), [&](const named_level& before) {
    return std::any_of(localities.begin(), localities.end(),
                       [&](const locality& l) { return before.localities.contains(l); });
  });
  std::string name;
  if (common != of.levels.end()) {
    name = std::move(common->name);
    of.levels.erase(common);
  } else {
    name = std::to_string(of.names++);
  }
  now.push_back({name, std::move(localities)});
  return name;
}

}  // namespace coracle::xds
