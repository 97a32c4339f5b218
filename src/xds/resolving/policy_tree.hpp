// policy_tree: the balancing policies of a target's clusters, with their servers.
#pragma once

#include "client/call/call_router.hpp"
#include "coracle/client/balancing.hpp"
#include "xds/balancing/drops.hpp"
#include "xds/load/cluster_load.hpp"
#include "xds/resolving/program_policies.hpp"
#include "xds/resolving/target_watcher.hpp"
#include "xds/security/cluster_credentials.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

// cluster_manager → outlier_detection → drops → priority → weighted_target by locality → the policy of the
// cluster (gRFC A75). The first four are there even when they have nothing to do, so that connections outlive
// an update that gives them something. An aggregate has a `priority` of its own below cluster_manager, with
// all of that for each of its parts.
//
// `secured` follows cluster_manager only if the cluster configures TLS, and `override_host` follows drops
// only if a filter keeps sessions: with these, connections are made anew, and the old ones serve until then.
// override_host is not always there because a pick through it takes 36 instructions, which calls without
// sessions have no room for (bench/README.md), and each server has an entry in it.
class policy_tree {
 public:
  // Where the load of a cluster, and of what its endpoints are called, is counted; null: nowhere.
  using load_source =
      std::function<std::shared_ptr<cluster_load>(const std::string& cluster, const std::string& service)>;
  // policies: must outlive it.
  policy_tree(std::shared_ptr<const bootstrap> from, load_source loads, program_policies& policies)
      : loads_(std::move(loads)), policies_(policies), credentials_(std::move(from)) {}

  // By the names of clusters. One object means one cluster, as long as a call or a route has it.
  using clusters_by_name = std::map<std::string, std::shared_ptr<const client::routed_cluster>, std::less<>>;
  struct built {
    balancing policy;
    clusters_by_name clusters;
  };
  [[nodiscard]] built build(const target_state& of);
  // For a target without routes. Calls that have been routed before keep their clusters.
  [[nodiscard]] static balancing failing_with(status reason);

 private:
  // A level of a `priority`, which keeps its name, and with it its connections, while it has a locality in
  // common with what it was.
  struct named_level {
    std::string name;
    std::set<locality> localities;
  };
  struct leaf_levels {
    std::vector<named_level> levels;
    std::size_t names = 0;
    bool used = false;
  };

  [[nodiscard]] balancing policy_of(const target_cluster& c, bool has_sessions);
  [[nodiscard]] balancing policy_of_leaf(const target_cluster& c, const leaf_cluster& l, bool has_sessions);
  [[nodiscard]] drops_options dropping_of(const leaf_cluster& l) const;
  [[nodiscard]] balancing secured_as(const cluster& config, const cluster_endpoints& endpoints,
                                     balancing policy);
  [[nodiscard]] std::string name_level(leaf_levels& of, std::vector<named_level>& now,
                                       const std::vector<locality_endpoints>& level) const;

  const load_source loads_;
  program_policies& policies_;
  std::map<std::string, std::weak_ptr<const client::routed_cluster>, std::less<>> routed_;
  credentials_by_cluster credentials_;
  std::map<std::string, leaf_levels, std::less<>> leaves_;  // by "cluster leaf"
};

}  // namespace coracle::xds
