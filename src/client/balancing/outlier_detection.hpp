// outlier_detection: takes servers that fail calls out of the policy below it for a while (gRFC A50).
#pragma once

#include "client/balancing/outlier_ledger.hpp"
#include "client/balancing/policy_slot.hpp"
#include "coracle/coro/executor.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::client {

class outlier_detection_config final : public policy_config {
 public:
  // service: the xDS cluster, for metrics. listed: how many servers it has, if the child does not use them
  // all.
  outlier_detection_config(outlier_detection_options options, balancing child, std::string service = {},
                           std::size_t listed = 0) noexcept
      : options_(options), child_(std::move(child)), service_(std::move(service)), listed_(listed) {}
  [[nodiscard]] const std::string& service() const noexcept { return service_; }
  [[nodiscard]] std::size_t listed() const noexcept { return listed_; }
  [[nodiscard]] const outlier_detection_options& options() const noexcept { return options_; }
  [[nodiscard]] const balancing& child() const noexcept { return child_; }
  [[nodiscard]] bool judges() const noexcept {
    return options_.success_rate_ejection || options_.failure_percentage_ejection;
  }
  [[nodiscard]] std::string_view family() const noexcept override { return "outlier_detection"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    const auto& o = static_cast<const outlier_detection_config&>(other);
    return options_ == o.options_ && child_ == o.child_ && service_ == o.service_ && listed_ == o.listed_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    return {std::string(family()), judges() ? "" : "ejects no server", {child_.config().outline()}};
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  outlier_detection_options options_;
  balancing child_;
  std::string service_;
  std::size_t listed_;
};

// Leaves alone servers whose user has no other to choose: pick_first would lose its only one (gRFC A61). What
// is known of a server outlives an update that moves it, such as from one priority to another.
class outlier_detection final : public balancer, private forwarding_host, private coro::timer {
 public:
  explicit outlier_detection(balancer_host& host);
  ~outlier_detection() override;

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override { child_->connect(); }
  pick choose(const pick_info& call) override { return child_->choose(call); }

 private:
  // balancer_host
  subchannel& make_subchannel(const endpoint& to, subchannel_user& user) override;
  void drop_subchannel(subchannel& s) noexcept override;

  void judge();
  struct tracked {
    subchannel* at;
    std::shared_ptr<attempt_outcomes> outcomes;  // null until a policy judges by them
  };
  using by_number = std::map<std::uint64_t, tracked>;  // of the subchannels
  void apply(const tracked& t) const noexcept;
  void leave(tracked& t) noexcept;
  void follow_addresses();

  const std::shared_ptr<outlier_ledger> ledger_;
  std::shared_ptr<const policy_config> config_;  // an outlier_detection_config
  bool judges_ = false;
  by_number subchannels_;
  by_number dropped_;  // by an update that is not over
  bool updating_ = false;
  policy_slot child_;
};

}  // namespace coracle::client
