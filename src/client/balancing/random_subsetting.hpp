// random_subsetting: gives the policy below it a random selection of the servers (gRFC A68).
#pragma once

#include "client/balancing/policy_slot.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::client {

class random_subsetting_config final : public policy_config {
 public:
  random_subsetting_config(std::uint32_t size, balancing child) noexcept
      : size_(size), child_(std::move(child)) {}
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] const balancing& child() const noexcept { return child_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "random_subsetting"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    const auto& o = static_cast<const random_subsetting_config&>(other);
    return size_ == o.size_ && child_ == o.child_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    return {std::string(family()), "size: " + std::to_string(size_), {child_.config().outline()}};
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  std::uint32_t size_;
  balancing child_;
};

// A server is selected if the hash of its address is among the smallest: few selections change when servers
// come and go. The seed of the hash is the channel's.
class random_subsetting final : public balancer, private forwarding_host {
 public:
  explicit random_subsetting(balancer_host& host);

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override { child_->connect(); }
  pick choose(const pick_info& call) override { return child_->choose(call); }

 private:
  struct seed;
  std::shared_ptr<seed> seed_;
  policy_slot child_;
};

}  // namespace coracle::client
