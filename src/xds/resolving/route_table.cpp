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
                         std::uint64_t channel_id)
    : host_(of.host), filters_of_(of.of->filters.empty() ? nullptr : of.of), channel_id_(channel_id) {
  clusters_.reserve(host_->routes.size());
  configs_.reserve(host_->routes.size());
  for (const xds::route& r : host_->routes) {
    auto& to = clusters_.emplace_back();
    to.reserve(r.action.clusters.size());
    for (const weighted_cluster& c : r.action.clusters) to.push_back(clusters.find(c.name)->second);
    client::method_config& config = configs_.emplace_back();
    const std::optional<duration> timeout = r.action.timeout_max ? r.action.timeout_max : of.of->timeout_max;
    if (timeout && *timeout > duration::zero()) config.timeout = timeout;
    config.retry = retries_of(r.action);
  }
}

result<client::call_route> route_table::route(std::string_view path, const metadata& headers,
                                              loop& here) const {
  const random_below random = [&here](std::uint64_t below) { return here.io().random() % below; };
  const headers_of_call source(headers);
  const xds::route* const found = find_route(*host_, {path, source}, random);
  if (!found) return status::unavailable("no matched route was found for " + std::string(path));
  if (found->kind != xds::route::action_kind::forward)
    return status::unavailable("matched route does not have a supported route action type");
  const weighted_cluster* chosen = &choose_cluster(found->action, random);
  const auto index = static_cast<std::size_t>(found - host_->routes.data());
  client::call_route to;
  if (filters_of_) {
    filtered_route of{{path, source}, headers, random, found->action, chosen};
    apply_filters(of, *found, to);
    chosen = of.cluster;
  }
  to.cluster = clusters_[index][static_cast<std::size_t>(chosen - found->action.clusters.data())];
  to.config = &configs_[index];
  to.hash = hash_of_call(found->action.hash_policies, source, channel_id_, here.io().random());
  return to;
}

// gRFC A39: an override of the cluster goes before that of the route, and that before the virtual host's.
void route_table::apply_filters(filtered_route& of, const xds::route& found, client::call_route& to) const {
  const std::array overrides = {&of.cluster->overrides, &found.overrides, &host_->overrides};
  auto call = std::make_shared<filtered_call>(of);
  for (const http_filter& each : filters_of_->filters)
    if (const filter* const applied = applied_filter(each, overrides)) applied->begin_call(*call);
  call->begun();
  to.preferred = std::move(of.preferred);
  if (call->is_filtered()) to.filters = std::move(call);
}

std::uint64_t hash_of_call(const std::vector<hash_policy>& policies, const header_source& headers,
                           std::uint64_t channel_id, std::uint64_t random) {
  if (policies.empty()) return random;
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
  return hash.value_or(random);
}

}  // namespace coracle::xds
