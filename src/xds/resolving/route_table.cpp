#include "xds/resolving/route_table.hpp"

#include "base/xxh64.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "xds/routing/headers_of_call.hpp"
#include "xds/routing/route_lookup.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>

namespace coracle::xds {

namespace {

std::shared_ptr<const client::retry_policy> retries_of(const route_action& action) {
  if (!action.retry || action.retry->codes.empty()) return nullptr;
  constexpr double multiplier = 2;  // gRFC A44
  client::retry_policy policy;
  policy.max_attempts =
      static_cast<unsigned>(std::min<std::uint64_t>(action.retry->attempts_max, client::attempts_max));
  policy.initial_backoff = action.retry->backoff_base;
  policy.max_backoff = action.retry->backoff_max;
  policy.backoff_multiplier = multiplier;
  for (const status_code c : action.retry->codes) policy.retryable.add(c);
  return std::make_shared<const client::retry_policy>(policy);
}

}  // namespace

route_table::route_table(const target_state& of, const policy_tree::clusters_by_name& clusters,
                         std::uint64_t channel_id, std::size_t loops)
    : host_(of.host), listener_(of.of), channel_id_(channel_id), caches_(loops) {
  destinations_.reserve(host_->routes.size());
  for (const xds::route& r : host_->routes) {
    destination& to = destinations_.emplace_back();
    to.clusters.reserve(r.action.clusters.size());
    for (const weighted_cluster& c : r.action.clusters)
      to.clusters.push_back({clusters.find(c.name)->second, filters_of(r, c)});
    client::method_config config;
    const std::optional<duration> timeout = r.action.timeout_max ? r.action.timeout_max : of.of->timeout_max;
    if (timeout && *timeout > duration::zero()) config.timeout = timeout;
    config.retry = retries_of(r.action);
    if (config.timeout || config.retry) to.config = std::move(config);
    to.rewrites_authority = r.action.rewrites_authority;
    to.plain = r.match.headers.empty() && !r.match.millionths && r.kind == xds::route::action_kind::forward &&
               to.clusters.size() == 1 && r.action.hash_policies.empty() &&
               to.clusters.front().filters.empty() && !to.rewrites_authority;
  }
}

bool route_table::route(std::string_view path, const metadata& headers, loop& here, client::call_route& to,
                        client::routed_call& with) const {
  std::unique_ptr<path_cache>& own = caches_[here.index()];
  if (!own) [[unlikely]]
    own = std::make_unique<path_cache>();
  const std::vector<std::uint32_t>& fitting = own->fitting(*host_, path);
  if (fitting.empty() || !destinations_[fitting.front()].plain)
    return route_by_more(fitting, path, headers, here, to, with);
  const destination& found = destinations_[fitting.front()];
  std::shared_ptr(found.clusters.front().to).swap(to.cluster);  // cheaper than to assign it
  if (found.config) with.config = &*found.config;
  return true;
}

bool route_table::route_by_more(std::span<const std::uint32_t> fitting, std::string_view path,
                                const metadata& headers, loop& here, client::call_route& to,
                                client::routed_call& with) const {
  const auto draw = [&here](std::uint64_t below) { return here.io().random() % below; };
  const random_below random(draw);
  const headers_of_call source(headers);
  const xds::route* const found = find_route(*host_, {path, source}, random, fitting);
  if (!found || found->kind != xds::route::action_kind::forward) {
    with.failure =
        status::unavailable(found ? std::string("matched route does not have a supported route action type")
                                  : "no matched route was found for " + std::string(path));
    return false;
  }
  const weighted_cluster* const drawn = &choose_cluster(found->action, random);
  const destination& of_route = destinations_[static_cast<std::size_t>(found - host_->routes.data())];
  const auto index_of = [&](const weighted_cluster* c) {
    return static_cast<std::size_t>(c - found->action.clusters.data());
  };
  std::size_t chosen = index_of(drawn);
  if (const auto& filters = of_route.clusters[chosen].filters; !filters.empty()) {
    filtered_route of{{path, source}, headers, random, found->action, drawn};
    auto call = std::make_shared<filtered_call>(of);
    for (const filter* const each : filters) each->begin_call(*call);
    call->begun();
    chosen = index_of(of.cluster);
    to.is_of_session = call->is_of_session();
    if (!call->preferred().empty()) to.preferred = &call->preferred();
    if (call->is_filtered()) with.filters = std::move(call);
  }
  to.cluster = of_route.clusters[chosen].to;
  to.rewrites_authority = of_route.rewrites_authority;
  if (of_route.config) with.config = &*of_route.config;
  if (!found->action.hash_policies.empty())
    to.hash = hash_of_call(found->action.hash_policies, source, channel_id_);
  return true;
}

// gRFC A39: an override of the cluster goes before that of the route, and that before the virtual host's.
std::vector<const filter*> route_table::filters_of(const xds::route& r, const weighted_cluster& c) const {
  const std::array overrides = {&c.overrides, &r.overrides, &host_->overrides};
  std::vector<const filter*> all;
  for (const http_filter& each : listener_->filters)
    if (const filter* const applied = applied_filter(each, overrides)) all.push_back(applied);
  return all;
}

std::optional<std::uint64_t> hash_of_call(const std::vector<hash_policy>& policies,
                                          const header_source& headers, std::uint64_t channel_id) {
  std::optional<std::uint64_t> hash;
  for (const hash_policy& p : policies) {
    std::optional<std::uint64_t> part;
    if (const auto* const h = std::get_if<hash_policy::header>(&p.of)) {
      if (h->name.ends_with("-bin")) continue;
      if (auto value = headers.joined(h->name))
        part = base::xxh64(h->pattern ? h->pattern->replaced(*value, h->substitution) : *value);
    } else {
      part = channel_id;
    }
    if (!part) continue;
    hash = hash ? std::rotl(*hash, 1) ^ *part : *part;
    if (p.terminal) break;
  }
  return hash;
}

}  // namespace coracle::xds
