#include "client/balancing/cluster_manager.hpp"

#include "client/call/call_attempt.hpp"
#include "runtime/backend.hpp"

#include <algorithm>

namespace coracle::client {

std::unique_ptr<balancer> cluster_manager_config::make(balancer_host& host) const {
  return std::make_unique<cluster_manager>(host);
}

cluster_manager::cluster_manager(balancer_host& host) noexcept : balancer(host) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<cluster_manager&>(t).drop_unused(); };
}

cluster_manager::~cluster_manager() {
  if (timer::holder) host_.owner_loop().disarm(*this);
}

void cluster_manager::update(const balancing& policy, const std::vector<endpoint>& servers) {
  updating_ = true;
  last_cluster_ = nullptr;
  for (auto& [name, c] : children_) c.configured = false;
  for (const auto& wanted : static_cast<const cluster_manager_config&>(policy.config()).clusters()) {
    child& c = children_[wanted.route->name];
    if (!c.policy)
      c.policy =
          std::make_unique<child_policy>(host_, static_cast<child_policy_owner&>(*this), wanted.route->name);
    std::erase_if(c.routes, [&](const auto& r) { return r.expired() || r.lock() == wanted.route; });
    c.routes.push_back(wanted.route);
    c.configured = true;
    c.policy->update(wanted.policy, wanted.servers ? *wanted.servers : servers);
  }
  updating_ = false;
  drop_unused();
}

void cluster_manager::drop_unused() noexcept {
  updating_ = true;
  last_cluster_ = nullptr;
  std::erase_if(children_, [](const auto& c) {
    const auto& routes = c.second.routes;
    return !c.second.configured &&
           std::all_of(routes.begin(), routes.end(), [](const auto& r) { return r.expired(); });
  });
  updating_ = false;
  const bool unconfigured =
      std::any_of(children_.begin(), children_.end(), [](const auto& c) { return !c.second.configured; });
  if (unconfigured) {
    loop& here = host_.owner_loop();
    here.arm(*this, deadline_after(here.now(), unused_check_interval));
  } else if (timer::holder) {
    host_.owner_loop().disarm(*this);
  }
  publish_state();
}

void cluster_manager::connect() {
  for (const auto& [name, c] : children_) c.policy->connect();
}

void cluster_manager::on_child(child_policy&) noexcept {
  if (!updating_) publish_state();
}

void cluster_manager::publish_state() noexcept {
  const child_policy* best = nullptr;
  for (const auto& [name, c] : children_)
    if (c.configured && (!best || rank_of(c.policy->state()) > rank_of(best->state()))) best = c.policy.get();
  if (best) return host_.publish(best->state(), best->reason());
  host_.publish(connectivity::transient_failure, removed_.reason);
}

child_policy* cluster_manager::find(const routed_cluster& cluster) noexcept {
  const auto found = children_.find(cluster.name);
  if (found == children_.end()) return nullptr;
  last_cluster_ = &cluster;
  last_child_ = found->second.policy.get();
  return last_child_;
}

pick cluster_manager::choose(const pick_info& call) {
  const std::unique_ptr<const call_route>& route = call.attempt().terms().route;
  if (route && route->cluster.get() == last_cluster_) [[likely]]
    return last_child_->choose(call);
  child_policy* const of_cluster = route ? find(*route->cluster) : nullptr;
  if (!of_cluster) return {nullptr, &removed_};
  return of_cluster->choose(call);
}

}  // namespace coracle::client
