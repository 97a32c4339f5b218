// target_watcher: everything that a control plane configures for one target, as one consistent state (gRFC
// A74).
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "xds/ads/ads_driver.hpp"
#include "xds/resolving/host_lookups.hpp"
#include "xds/resource/resource.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds {

// A cluster with endpoints, or why it has none.
struct leaf_cluster {
  std::string name;
  std::shared_ptr<const cluster> config;  // null if there is a problem, as are the endpoints
  std::shared_ptr<const cluster_endpoints> endpoints;
  status problem;
};

// A cluster that routes name.
struct target_cluster {
  std::string name;
  std::vector<leaf_cluster> leaves;  // itself, or those of an aggregate; the highest priority first
  status problem;  // of an aggregate as a whole
};

struct target_state {
  std::shared_ptr<const listener> of;
  std::shared_ptr<const virtual_host> host;  // keeps the resource that it is part of
  std::vector<target_cluster> clusters;  // each one that a route of the host names, once

  // Whether a filter keeps the calls of a session on one server.
  [[nodiscard]] bool has_sessions() const noexcept;
};

// Watches the Listener, its RouteConfiguration, the Clusters of its virtual host, with those of aggregates,
// and their endpoints, with the host names of clusters that are resolved. On the loop of the driver and of
// `hosts`, which must outlive it.
class target_watcher {
 public:
  // `authority` chooses the virtual host. Sets `changed` whenever look() may have another result.
  target_watcher(ads_driver& by, host_lookups& hosts, std::string listener_name, std::string authority,
                 event<>& changed)
      : by_(by),
        hosts_(hosts),
        listener_name_(std::move(listener_name)),
        authority_(std::move(authority)),
        changed_(changed) {}
  target_watcher(const target_watcher&) = delete;
  target_watcher& operator=(const target_watcher&) = delete;
  ~target_watcher();

  // Nothing while a resource that is needed is neither known nor known to be missing. An error is that of all
  // calls, UNAVAILABLE. Begins and ends watches.
  [[nodiscard]] std::optional<result<target_state>> look();
  // What is wrong with resources that are used nevertheless. Valid until the next change.
  [[nodiscard]] std::vector<std::string_view> ambient_problems() const;

 private:
  template <class T>
  struct watched {
    watch_id watch{};
    std::shared_ptr<const T> latest;
    status error;  // OK if there is `latest`, or nothing is known
    status ambient;
    bool used = false;
  };
  template <class T>
  using watched_by_name = std::map<std::string, watched<T>, std::less<>>;
  struct walk;

  [[nodiscard]] result<target_state> see();
  void add_leaves(std::string_view name, walk& of);
  // The resource, or its error, also if it is not known yet.
  template <class T>
  [[nodiscard]] result<std::shared_ptr<const T>> use(watched_by_name<T>& among, resource_kind kind,
                                                     std::string_view name);
  // The endpoints of a LOGICAL_DNS cluster.
  [[nodiscard]] result<std::shared_ptr<const cluster_endpoints>> resolved(const std::string& cluster_name,
                                                                          const socket_address& name);
  template <class T>
  void end_unused(watched_by_name<T>& among);

  ads_driver& by_;
  host_lookups& hosts_;
  const std::string listener_name_;
  const std::string authority_;
  event<>& changed_;
  watched_by_name<listener> listeners_;
  watched_by_name<route_configuration> routes_;
  watched_by_name<cluster> clusters_;
  watched_by_name<cluster_endpoints> endpoints_;
  bool incomplete_ = false;
};

}  // namespace coracle::xds
