#include "xds/resolving/target_watcher.hpp"

#include "base/printable.hpp"
#include "coracle/net/address.hpp"
#include "xds/limits.hpp"
#include "xds/routing/route_lookup.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace coracle::xds {

namespace {

// The addresses of a host name are those of one server (gRFC A37), whose name TLS has to know (gRFC A101),
// and :authority, there with its port (gRFC A81).
std::shared_ptr<const cluster_endpoints> endpoint_at(const std::string& cluster_name,
                                                     const socket_address& name,
                                                     const host_lookups::addresses& found) {
  cluster_endpoints only;
  only.name = cluster_name;
  locality_endpoints& here = only.priorities.emplace_back().emplace_back();
  here.weight = 1;
  endpoint& server = here.endpoints.emplace_back();
  const bool is_v6_host = name.host.find(':') != name.host.npos;
  server.hostname = (is_v6_host ? "[" + name.host + "]" : name.host) + ":" + std::to_string(name.port);
  for (const net::address& a : found) {
    if (!a.is_ip()) continue;
    const std::string text = a.to_string();
    const auto colon = text.rfind(':');
    const bool is_v6 = text.starts_with('[');
    server.addresses.push_back({is_v6 ? text.substr(1, colon - 2) : text.substr(0, colon), a.port()});
  }
  return std::make_shared<const cluster_endpoints>(std::move(only));
}

}  // namespace

// Of the clusters below one that a route names.
struct target_watcher::walk {
  target_cluster& into;
  std::size_t& parts;  // of all aggregate clusters so far
  std::vector<std::string> path;  // from there to the current one
  std::set<std::string, std::less<>> seen;
};

bool target_state::has_sessions() const noexcept {
  const auto any_has = [](const http_filters& all) {
    return std::ranges::any_of(all,
                               [](const http_filter& f) { return f.applied && f.applied->has_sessions(); });
  };
  return any_has(of->filters) || any_has(host->overrides) ||
         std::ranges::any_of(host->routes, [&](const route& r) {
           return any_has(r.overrides) ||
                  std::ranges::any_of(r.action.clusters,
                                      [&](const weighted_cluster& c) { return any_has(c.overrides); });
         });
}

target_watcher::~target_watcher() {
  const auto end = [this](const auto& among) {
    for (const auto& [name, w] : among) by_.cancel(w.watch);
  };
  end(listeners_);
  end(routes_);
  end(clusters_);
  end(endpoints_);
}

std::optional<result<target_state>> target_watcher::look() {
  incomplete_ = false;
  result<target_state> seen = see();
  // Until all is known, what is in use stays watched.
  const bool complete = !incomplete_;
  const auto settle = [&](auto& among) {
    if (complete) end_unused(among);
    for (auto& [name, w] : among) w.used = false;
  };
  settle(listeners_);
  settle(routes_);
  settle(clusters_);
  settle(endpoints_);
  if (complete) hosts_.end_unused();
  if (!complete) return std::nullopt;
  return seen;
}

result<target_state> target_watcher::see() {
  target_state found;
  auto main = use(listeners_, resource_kind::listener, listener_name_);
  if (!main) return main.status();
  found.of = *std::move(main);
  std::shared_ptr<const route_configuration> routes;
  if (const auto* const own = std::get_if<route_configuration>(&found.of->routes)) {
    routes = {found.of, own};
  } else {
    auto named = use(routes_, resource_kind::route_configuration, std::get<std::string>(found.of->routes));
    if (!named) return named.status();
    routes = *std::move(named);
  }
  const virtual_host* const host = find_virtual_host(*routes, authority_);
  if (!host)
    return status::unavailable("xDS resource RouteConfiguration \"" + routes->name +
                               "\": could not find VirtualHost for " + authority_);
  found.host = {routes, host};
  std::set<std::string, std::less<>> named;
  for (const route& r : host->routes)
    for (const weighted_cluster& c : r.action.clusters)
      if (r.kind == route::action_kind::forward) named.insert(c.name);
  std::size_t parts = 0;
  for (const std::string& name : named) {
    target_cluster& added = found.clusters.emplace_back();
    added.name = name;
    walk below{added, parts, {}, {}};
    add_leaves(name, below);
    if (!added.problem.ok()) added.leaves.clear();
  }
  return found;
}

// Depth first. A cluster that comes again has its priority from the first time.
void target_watcher::add_leaves(std::string_view name, walk& of) {
  // Also one that comes again: a list of a million times the same name is work.
  if (!of.path.empty() && ++of.parts > limits::aggregate_parts_max) {
    of.into.problem = status::unavailable("aggregate cluster " + of.into.name +
                                          ": the parts of all aggregate clusters of the target exceed " +
                                          std::to_string(limits::aggregate_parts_max));
    return;
  }
  if (std::find(of.path.begin(), of.path.end(), name) != of.path.end()) {
    of.into.problem = status::unavailable("aggregate cluster " + of.into.name +
                                          " contains itself, by way of " + std::string(name));
    return;
  }
  if (!of.seen.emplace(name).second) return;
  if (of.path.size() >= limits::aggregate_depth_max) {
    of.into.problem = status::unavailable("aggregate cluster " + of.into.name + " is nested deeper than " +
                                          std::to_string(limits::aggregate_depth_max) + " clusters");
    return;
  }
  leaf_cluster leaf;
  leaf.name = name;
  auto config = use(clusters_, resource_kind::cluster, name);
  if (!config) {
    leaf.problem = config.status();
    of.into.leaves.push_back(std::move(leaf));
    return;
  }
  leaf.config = *std::move(config);
  if (const auto* const several = std::get_if<cluster::aggregate>(&leaf.config->discovery)) {
    of.path.emplace_back(name);
    for (const std::string& each : several->clusters) {
      add_leaves(each, of);
      if (!of.into.problem.ok()) return;
    }
    of.path.pop_back();
    return;
  }
  const auto* const eds = std::get_if<cluster::eds>(&leaf.config->discovery);
  auto endpoints = eds ? use(endpoints_, resource_kind::endpoints,
                             eds->service_name.empty() ? leaf.config->name : eds->service_name)
                       : resolved(leaf.name, std::get<socket_address>(leaf.config->discovery));
  if (endpoints) {
    leaf.endpoints = *std::move(endpoints);
  } else {
    leaf.config = nullptr;
    leaf.problem = endpoints.status();
  }
  of.into.leaves.push_back(std::move(leaf));
}

result<std::shared_ptr<const cluster_endpoints>> target_watcher::resolved(const std::string& cluster_name,
                                                                          const socket_address& name) {
  const auto found = hosts_.find(name);
  if (!found) {
    incomplete_ = true;
    return status::unavailable("not known yet");
  }
  if (found->ok()) return endpoint_at(cluster_name, name, **found);
  return status::unavailable("cluster " + cluster_name + ": the name " + base::printable(name.host) +
                             " cannot be resolved: " + std::string(found->status().message()));
}

template <class T>
result<std::shared_ptr<const T>> target_watcher::use(watched_by_name<T>& among, resource_kind kind,
                                                     std::string_view name) {
  auto found = among.find(name);
  if (found == among.end()) {
    found = among.emplace(name, watched<T>()).first;
    watched<T>& w = found->second;  // stays where it is
    w.watch = by_.watch(kind, name, [this, &w](const watch_event& e) {
      switch (e.what) {
        case watch_event::kind::changed:
          w.latest = std::get<std::shared_ptr<const T>>(*e.resource);
          w.error = {};
          w.ambient = {};
          break;
        case watch_event::kind::error:
          w.latest = nullptr;
          w.error = e.reason;
          w.ambient = {};
          break;
        case watch_event::kind::ambient: w.ambient = e.reason; break;
      }
      changed_.set();
    });
  }
  watched<T>& w = found->second;
  w.used = true;
  if (w.latest) return w.latest;
  if (!w.error.ok()) return w.error;
  incomplete_ = true;
  return status::unavailable("not known yet");
}

template <class T>
void target_watcher::end_unused(watched_by_name<T>& among) {
  std::erase_if(among, [this](const auto& entry) {
    if (entry.second.used) return false;
    by_.cancel(entry.second.watch);
    return true;
  });
}

std::vector<std::string_view> target_watcher::ambient_problems() const {
  std::vector<std::string_view> all;
  const auto add = [&all](const auto& among) {
    for (const auto& [name, w] : among)
      if (!w.ambient.ok()) all.push_back(w.ambient.message());
  };
  add(listeners_);
  add(routes_);
  add(clusters_);
  add(endpoints_);
  return all;
}

}  // namespace coracle::xds
