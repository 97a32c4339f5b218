// route_table: decides for each call of a channel where its control plane sends it (gRFC A28, A31, A42, A44).
#pragma once

#include "client/call/call_router.hpp"
#include "client/call/method_config.hpp"
#include "xds/filters/filtered_call.hpp"
#include "xds/resolving/policy_tree.hpp"
#include "xds/resolving/target_watcher.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

class route_table final : public client::call_router {
 public:
  // channel_id: random, the same one for all tables of a channel.
  route_table(const target_state& of, const policy_tree::clusters_by_name& clusters,
              std::uint64_t channel_id);
  [[nodiscard]] result<client::call_route> route(std::string_view path, const metadata& headers,
                                                 loop& here) const override;

 private:
  void apply_filters(filtered_route& of, const xds::route& found, client::call_route& to) const;

  std::shared_ptr<const virtual_host> host_;
  std::shared_ptr<const listener> filters_of_;  // null: calls pass no filters
  // By the index of a route, and then of a cluster in its action.
  std::vector<std::vector<std::shared_ptr<const client::routed_cluster>>> clusters_;
  std::vector<client::method_config> configs_;  // the same
  std::uint64_t channel_id_;
};

// Of a target without a usable Listener or RouteConfiguration.
class no_routes final : public client::call_router {
 public:
  explicit no_routes(status reason) noexcept : reason_(std::move(reason)) {}
  [[nodiscard]] result<client::call_route> route(std::string_view, const metadata&, loop&) const override {
    return reason_;
  }

 private:
  status reason_;
};

// gRFC A42; random if no policy has anything to hash.
[[nodiscard]] std::uint64_t hash_of_call(const std::vector<hash_policy>& policies,
                                         const header_source& headers, std::uint64_t channel_id,
                                         std::uint64_t random);

}  // namespace coracle::xds
