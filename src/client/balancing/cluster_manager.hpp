// cluster_manager: gives each call to the policy of the cluster that it is routed to (gRFC A31).
#pragma once

#include "client/balancing/child_policy.hpp"
#include "client/call/call_router.hpp"
#include "coracle/coro/executor.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::client {

class cluster_manager_config final : public policy_config {
 public:
  struct cluster {
    std::shared_ptr<const routed_cluster> route;  // the same object as in the routes to it
    balancing policy;
    servers_of_child servers{};
    friend bool operator==(const cluster&, const cluster&) = default;
  };
  explicit cluster_manager_config(std::vector<cluster> clusters) noexcept : clusters_(std::move(clusters)) {}
  [[nodiscard]] const std::vector<cluster>& clusters() const noexcept { return clusters_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "cluster_manager"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return clusters_ == static_cast<const cluster_manager_config&>(other).clusters_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    rpc::policy_outline all{std::string(family())};
    for (const cluster& c : clusters_)
      all.children.push_back(outline_of_child(c.route->name, c.policy, c.servers));
    return all;
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  std::vector<cluster> clusters_;
};

// A cluster that is no longer configured stays while calls are routed to it.
class cluster_manager final : public balancer, private child_policy_owner, private coro::timer {
 public:
  // How often it is checked whether they still are.
  static constexpr duration unused_check_interval = std::chrono::seconds(5);

  explicit cluster_manager(balancer_host& host) noexcept;
  ~cluster_manager() override;

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override;
  pick choose(const pick_info& call) override;

 private:
  struct child {
    // Of this configuration, and of earlier ones that calls may still have.
    std::vector<std::weak_ptr<const routed_cluster>> routes;
    bool configured = false;
    std::unique_ptr<child_policy> policy;
  };
  // child_policy_owner
  void on_child(child_policy& c) noexcept override;
  void publish_state() noexcept;
  void drop_unused() noexcept;

  [[nodiscard]] child_policy* find(const routed_cluster& cluster) noexcept;

  std::map<std::string, child, std::less<>> children_;
  // The last one that was found, until the next configuration: calls to one cluster follow each other.
  const routed_cluster* last_cluster_ = nullptr;
  child_policy* last_child_ = nullptr;
  bool updating_ = false;  // a state is published when all children have theirs
  const no_server removed_{no_server::action::drop, nullptr,
                           status::unavailable("the cluster of the call no longer exists")};
};

}  // namespace coracle::client
