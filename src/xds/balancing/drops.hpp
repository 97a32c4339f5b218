// drops: fails a share of the calls, as the control plane asks for in an overload (drop_overloads of a
// ClusterLoadAssignment; gRFC A27).
#pragma once

#include "client/balancing/policy_slot.hpp"
#include "xds/resource/endpoints.hpp"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

class drops_config final : public client::policy_config {
 public:
  drops_config(std::vector<drop_category> categories, balancing child) noexcept
      : categories_(std::move(categories)), child_(std::move(child)) {}
  [[nodiscard]] const std::vector<drop_category>& categories() const noexcept { return categories_; }
  [[nodiscard]] const balancing& child() const noexcept { return child_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "drops"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    const auto& o = static_cast<const drops_config&>(other);
    return categories_ == o.categories_ && child_ == o.child_;
  }
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  std::vector<drop_category> categories_;
  balancing child_;
};

// Each category has a draw of its own. A call that is dropped fails even if it waits for ready, and is not
// retried. Nothing is dropped before the child is READY, so that calls that wait have one draw, not several.
class drops final : public client::balancer, private client::forwarding_host {
 public:
  explicit drops(client::balancer_host& host) noexcept : balancer(host), forwarding_host(host) {}
  ~drops() override { child_.reset(); }

  void update(const balancing& policy, const std::vector<client::endpoint>& servers) override;
  void connect() override { child_->connect(); }
  client::pick choose(const client::pick_info& call) override;

 private:
  // balancer_host
  void publish(connectivity c, const status& reason) noexcept override;

  std::vector<drop_category> categories_;
  connectivity state_ = connectivity::connecting;  // of the child
  client::no_server drop_{client::no_server::action::drop};
  client::policy_slot child_;
};

}  // namespace coracle::xds
