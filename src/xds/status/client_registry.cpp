#include "xds/status/client_registry.hpp"

#include "coracle/runtime/on.hpp"
#include "rpc/channel_registry.hpp"
#include "xds/resource/resource.hpp"
#include "xds/wire/core.pb.h"

#include <vector>

namespace coracle::xds {

namespace {

std::string_view state_text(cache_state s) noexcept {
  switch (s) {
    case cache_state::requested: return "requested";
    case cache_state::acked: return "acked";
    case cache_state::nacked: return "nacked";
    case cache_state::does_not_exist: return "does_not_exist";
    case cache_state::received_error: return "received_error";
    case cache_state::timeout: return "timeout";
  }
  return "requested";
}

// On the loop of the client.
task<> look_at(std::uint64_t id, rpc::configured_client& to) {
  const auto found = client_registry::instance().find_entry(id);
  if (!found) co_return;
  to.target = found->scope;
  to.node = found->client->node().id();
  found->client->visit([&](const resource_dump& r) {
    if (++to.resource_count > rpc::configured_client::resources_max) return;
    rpc::configured_resource& made = to.resources.emplace_back();
    made.type = type_name(r.kind);
    made.name = r.name;
    made.state = state_text(r.state);
    made.error = r.error.message();
    made.failed_version = r.failed_version;
    if (r.updated == time_point{}) return;
    made.version = r.version;
    made.updated = rpc::to_wall_time(*found->on, r.updated);
  });
  if (found->policies) to.policies = found->policies();
}

// Those of one runtime.
task<std::vector<rpc::configured_client>> look_at_all(const runtime* of) {
  std::vector<rpc::configured_client> all;
  const auto clients = client_registry::instance().all();
  for (const auto& [id, each] : clients) {
    if (each.of != of) continue;
    rpc::configured_client one;
    auto visit = look_at(id, one);
    co_await on(*each.on, std::move(visit));
    if (!one.target.empty()) all.push_back(std::move(one));
  }
  co_return all;
}

}  // namespace

client_registry::membership::membership(const std::string& scope, const ads_client& client,
                                        outline_function policies)
    : gauges_(scope, client) {
  loop& here = *loop::current();
  const runtime* const of = &here.owner();
  here.add_metrics(gauges_);
  rpc::configured_clients::of(here.owner())->read_by([of] { return look_at_all(of); });
  id_ = instance().add({scope, &here, of, &client, std::move(policies)});
}

}  // namespace coracle::xds
