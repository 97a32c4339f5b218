// failing: the policy of a cluster, or of a priority, that has no server to call.
#pragma once

#include "client/balancing/balancer.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

class failing_config final : public client::policy_config {
 public:
  explicit failing_config(status reason) noexcept : reason_(std::move(reason)) {}
  [[nodiscard]] const status& reason() const noexcept { return reason_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "failing"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return reason_ == static_cast<const failing_config&>(other).reason_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    return {std::string(family()), std::string(reason_.message())};
  }
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  status reason_;
};

// Calls that wait for ready wait; the others fail with the reason.
class failing final : public client::balancer {
 public:
  explicit failing(client::balancer_host& host) noexcept : balancer(host) {}

  void update(const balancing& policy, const std::vector<client::endpoint>& servers) override;
  void connect() override {}
  client::pick choose(const client::pick_info&) override { return {nullptr, &fail_}; }

 private:
  client::no_server fail_{client::no_server::action::fail};
};

}  // namespace coracle::xds
