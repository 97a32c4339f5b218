// weighted_target: distributes calls over policies in proportion to their weights, such as those of the zones
// of a cluster.
#pragma once

#include "client/balancing/child_policy.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::client {

class weighted_target_config final : public policy_config {
 public:
  struct target {
    std::string name;  // another one for each
    std::uint32_t weight;  // 0 counts as 1
    balancing policy;
    servers_of_child servers{};
    std::string locality{};  // for metrics; empty: it is none
    friend bool operator==(const target&, const target&) = default;
  };
  // The sum of the weights is less than 2^32.
  explicit weighted_target_config(std::vector<target> targets) noexcept : targets_(std::move(targets)) {}
  [[nodiscard]] const std::vector<target>& targets() const noexcept { return targets_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "weighted_target"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return targets_ == static_cast<const weighted_target_config&>(other).targets_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    rpc::policy_outline all{std::string(family())};
    for (const target& t : targets_) {
      auto& made = all.children.emplace_back(outline_of_child(t.name, t.policy, t.servers));
      made.detail.append(made.detail.empty() ? "" : ", ").append("weight: ").append(std::to_string(t.weight));
    }
    return all;
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  std::vector<target> targets_;
};

// A call goes to one of the children in the best state, at random by weight: READY, CONNECTING, IDLE,
// TRANSIENT_FAILURE. A child that becomes IDLE is connected again, so that it gets its share.
class weighted_target final : public balancer, private child_policy_owner {
 public:
  explicit weighted_target(balancer_host& host) noexcept;

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override;
  pick choose(const pick_info& call) override;

 private:
  struct child {
    child(weighted_target& owner, const std::string& name)
        : policy(owner.host_, static_cast<child_policy_owner&>(owner), name) {}
    [[nodiscard]] const std::string& name() const noexcept { return policy.name(); }
    child_policy policy;
    std::uint32_t weight = 1;
  };
  // child_policy_owner
  void on_child(child_policy& c) noexcept override;
  void publish_state() noexcept;
  // At most 2^33.
  [[nodiscard]] std::uint64_t draw(std::uint64_t below) noexcept;

  std::vector<std::unique_ptr<child>> children_;
  connectivity state_ = connectivity::connecting;  // the best of them
  std::uint64_t weights_ = 0;  // of those in that state
  bool updating_ = false;  // a state is published when all children have theirs
  std::uint64_t random_;
  no_server wait_;
  const no_server empty_{no_server::action::fail, nullptr, status::unavailable("the cluster has no servers")};
};

}  // namespace coracle::client
