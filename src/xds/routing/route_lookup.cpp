#include "xds/routing/route_lookup.hpp"

#include "xds/resource/wire_values.hpp"
#include "xds/routing/path_cache.hpp"

#include <tuple>

namespace coracle::xds {

namespace {

bool fits(const domain_pattern& p, std::string_view host) {
  switch (p.how) {
    case domain_pattern::kind::any: return true;
    case domain_pattern::kind::prefix: return host.starts_with(p.text);
    case domain_pattern::kind::suffix: return host.ends_with(p.text);
    default: return host == p.text;
  }
}

// All but the path.
bool fits(const route_match& m, const route_request& request, const random_below& random) {
  for (const header_matcher& each : m.headers)
    if (!each.matches(request.headers)) return false;
  return !m.millionths || *m.millionths >= million || random(million) < *m.millionths;
}

}  // namespace

const virtual_host* find_virtual_host(const route_configuration& in, std::string_view authority) {
  const std::string host = lower_case(authority);
  const virtual_host* best = nullptr;
  std::tuple<domain_pattern::kind, std::size_t> best_rank;
  for (const virtual_host& each : in.virtual_hosts) {
    for (const domain_pattern& p : each.domains) {
      const std::tuple rank(p.how, p.text.size());
      if (!fits(p, host) || (best && rank <= best_rank)) continue;
      best = &each;
      best_rank = rank;
    }
  }
  return best;
}

const route* find_route(const virtual_host& in, const route_request& of, const random_below& random) {
  for (const route& each : in.routes)
    if (each.match.path.matches(of.path) && fits(each.match, of, random)) return &each;
  return nullptr;
}

const route* find_route(const virtual_host& in, const route_request& of, const random_below& random,
                        std::span<const std::uint32_t> fitting) {
  for (const std::uint32_t i : fitting)
    if (const route& each = in.routes[i]; fits(each.match, of, random)) return &each;
  return nullptr;
}

const std::vector<std::uint32_t>& path_cache::fill(entry& e, const virtual_host& host,
                                                   std::string_view path) {
  e.path.clear();
  e.routes.clear();
  for (std::size_t i = 0; i < host.routes.size(); ++i) {
    const route_match& m = host.routes[i].match;
    if (!m.path.matches(path)) continue;
    e.routes.push_back(static_cast<std::uint32_t>(i));
    if (m.headers.empty() && !m.millionths) break;
  }
  e.path = path;
  return e.routes;
}

const weighted_cluster& choose_cluster(const route_action& of, const random_below& random) {
  if (of.clusters.size() == 1) return of.clusters.front();
  std::uint64_t sum = 0;
  for (const weighted_cluster& each : of.clusters) sum += each.weight;
  std::uint64_t left = random(sum);
  for (const weighted_cluster& each : of.clusters) {
    if (left < each.weight) return each;
    left -= each.weight;
  }
  return of.clusters.back();
}

}  // namespace coracle::xds
