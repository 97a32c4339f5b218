// route_table: decides for each call of a channel where its control plane sends it (gRFC A28, A31, A42, A44).
#pragma once

#include "client/call/call_router.hpp"
#include "client/call/method_config.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/resolving/policy_tree.hpp"
#include "xds/resolving/target_watcher.hpp"
#include "xds/routing/path_cache.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

class route_table final : public client::call_router {
 public:
  // channel_id: random, the same one for all tables of a channel. loops: of the runtime.
  route_table(const target_state& of, const policy_tree::clusters_by_name& clusters, std::uint64_t channel_id,
              std::size_t loops);
  [[nodiscard]] bool route(std::string_view path, const metadata& headers, loop& here, client::call_route& to,
                           client::routed_call& with) const override;

 private:
  // What a cluster of a route has become.
  struct routed {
    std::shared_ptr<const client::routed_cluster> to;
    std::vector<const filter*> filters;  // of calls that go there; they belong to the resources
  };
  struct destination {
    std::vector<routed> clusters;  // by their indices in the action
    std::optional<client::method_config> config;
    bool rewrites_authority = false;  // gRFC A81
    bool plain = false;  // the path decides: every call goes to the one cluster, as it is
  };

  [[nodiscard]] bool route_by_more(std::span<const std::uint32_t> fitting, std::string_view path,
                                   const metadata& headers, loop& here, client::call_route& to,
                                   client::routed_call& with) const;
  [[nodiscard]] std::vector<const filter*> filters_of(const xds::route& r, const weighted_cluster& c) const;

  std::shared_ptr<const virtual_host> host_;
  std::shared_ptr<const listener> listener_;
  std::vector<destination> destinations_;  // by the index of a route
  std::uint64_t channel_id_;
  mutable std::vector<std::unique_ptr<path_cache>> caches_;  // by loop, each of which has its own
};

// Of a target without a usable Listener or RouteConfiguration.
class no_routes final : public client::call_router {
 public:
  explicit no_routes(status reason) noexcept : reason_(std::move(reason)) {}
  [[nodiscard]] bool route(std::string_view, const metadata&, loop&, client::call_route&,
                           client::routed_call& with) const override {
    with.failure = reason_;
    return false;
  }

 private:
  status reason_;
};

// gRFC A42; nothing if no policy has anything to hash: the hash is random then.
[[nodiscard]] std::optional<std::uint64_t> hash_of_call(const std::vector<hash_policy>& policies,
                                                        const header_source& headers,
                                                        std::uint64_t channel_id);

}  // namespace coracle::xds
