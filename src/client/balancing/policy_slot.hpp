// policy_slot: holds a balancer whose policy may change.
#pragma once

#include "client/balancing/balancer.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::client {

class policy_slot {
 public:
  // Gives the policy and its servers to the balancer, or to a new one if the policy is of another family.
  // Returns whether it is a new one, for which start() has to follow.
  bool update(const balancing& policy, const std::vector<endpoint>& servers, balancer_host& host) {
    const bool another = !takes(policy);
    if (another) {
      reset();
      balancer_ = policy.config().make(host);
      family_ = policy.config().family();
    }
    balancer_->update(policy, servers);
    return another;
  }
  // Whether update() keeps the balancer.
  [[nodiscard]] bool takes(const balancing& policy) const noexcept {
    return balancer_ && family_ == policy.config().family();
  }
  void reset() noexcept { balancer_.reset(); }
  [[nodiscard]] explicit operator bool() const noexcept { return balancer_ != nullptr; }
  [[nodiscard]] balancer* get() const noexcept { return balancer_.get(); }
  [[nodiscard]] balancer* operator->() const noexcept { return balancer_.get(); }

 private:
  std::unique_ptr<balancer> balancer_;
  std::string_view family_;
};

// The host of a balancer below another one, which passes everything on to its own host.
class forwarding_host : public balancer_host {
 public:
  subchannel& make_subchannel(const endpoint& to, subchannel_user& user) override {
    return above_.make_subchannel(to, user);
  }
  void drop_subchannel(subchannel& s) noexcept override { above_.drop_subchannel(s); }
  void publish(connectivity c, const status& reason) noexcept override { above_.publish(c, reason); }
  void take_waiting(base::intrusive_list<call_attempt>& calls) noexcept override {
    above_.take_waiting(calls);
  }
  [[nodiscard]] const std::optional<std::string>& health_service() const noexcept override {
    return above_.health_service();
  }
  void resolve_again() noexcept override { above_.resolve_again(); }
  void out_of_memory() noexcept override { above_.out_of_memory(); }
  [[nodiscard]] loop& owner_loop() const noexcept override { return above_.owner_loop(); }
  [[nodiscard]] std::string_view target() const noexcept override { return above_.target(); }
  [[nodiscard]] server_labels labels() const override { return above_.labels(); }
  [[nodiscard]] std::shared_ptr<shared_by_loops> shared(std::string_view name,
                                                        shared_by_loops_maker make) override {
    return above_.shared(name, make);
  }

 protected:
  explicit forwarding_host(balancer_host& above) noexcept : above_(above) {}
  ~forwarding_host() = default;
  balancer_host& above_;
};

}  // namespace coracle::client
