#include "xds/status/client_gauges.hpp"

#include "base/if_memory_allows.hpp"
#include "xds/bootstrap/resource_name.hpp"
#include "xds/status/client_instruments.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <tuple>

namespace coracle::xds {

namespace {

// The value of grpc.xds.cache_state.
std::string_view label_of(cache_state s, bool cached) noexcept {
  switch (s) {
    case cache_state::requested: return "requested";
    case cache_state::acked: return "acked";
    case cache_state::nacked: return cached ? "nacked_but_cached" : "nacked";
    case cache_state::does_not_exist: return cached ? "does_not_exist_but_cached" : "does_not_exist";
    case cache_state::received_error: return cached ? "received_error_but_cached" : "received_error";
    case cache_state::timeout: return "timeout";
  }
  return "requested";
}

// The value of grpc.xds.authority.
std::string authority_of(const resource_dump& r) {
  if (!r.name.starts_with("xdstp:")) return "#old";
  const auto parsed = parse_resource_name(r.name, type_name(r.kind));
  return parsed ? parsed->authority : "#old";
}

}  // namespace

void client_gauges::report(metrics_sink& to) const noexcept {
  base::if_memory_allows([&] {
    of_.visit_servers([&](const management_server& server, bool connected) {
      const std::array<std::string_view, 2> values{target_, server.uri};
      to.measure(client_connected, connected ? 1 : 0, values);
    });
    std::map<std::tuple<std::string, std::string_view, std::string_view>, std::size_t> counts;
    of_.visit([&](const resource_dump& r) {
      ++counts[{authority_of(r), label_of(r.state, r.updated != time_point{}), type_name(r.kind)}];
    });
    for (const auto& [key, count] : counts) {
      const auto& [authority, state, type] = key;
      const std::array<std::string_view, 4> values{target_, authority, state, type};
      to.measure(client_resources, static_cast<double>(count), values);
    }
  });
}

}  // namespace coracle::xds
