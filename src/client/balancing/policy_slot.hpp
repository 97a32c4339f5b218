// policy_slot: holds a balancer whose policy may change.
#pragma once

#include "client/balancing/balancer.hpp"
#include "client/call/call_queue.hpp"
#include "coracle/coro/executor.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::client {

// The host of a balancer below another one, which passes everything on to its own host.
class forwarding_host : public balancer_host {
 public:
  subchannel& make_subchannel(const endpoint& to, subchannel_user& user) override {
    return above_.make_subchannel(to, user);
  }
  void drop_subchannel(subchannel& s) noexcept override { above_.drop_subchannel(s); }
  void publish(connectivity c, const status& reason) noexcept override { above_.publish(c, reason); }
  void take_waiting(call_queue& calls) noexcept override { above_.take_waiting(calls); }
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

// A policy of another family has a balancer of its own. While the one before it is READY, that one goes on
// serving calls until the new one is no longer CONNECTING, or the old one no longer READY.
class policy_slot {
 public:
  policy_slot() noexcept;
  policy_slot(const policy_slot&) = delete;
  policy_slot& operator=(const policy_slot&) = delete;
  ~policy_slot();

  // Gives the policy and its servers to the balancer, or to a new one if the policy is of another family.
  // Returns the new one, for which start() has to follow; null: there is none.
  balancer* update(const balancing& policy, const std::vector<endpoint>& servers, balancer_host& host);
  // Whether calls have the same balancer after update(), for a while at least.
  [[nodiscard]] bool keeps(const balancing& policy) const noexcept;
  void reset() noexcept;
  // That of the calls.
  [[nodiscard]] explicit operator bool() const noexcept { return current_ != nullptr; }
  [[nodiscard]] balancer* get() const noexcept { return current_; }
  [[nodiscard]] balancer* operator->() const noexcept { return current_; }

 private:
  // A balancer and its host.
  class stage;
  struct sweep : coro::timer {
    explicit sweep(policy_slot& s) noexcept : of(s) {}
    policy_slot& of;
  };
  void published(stage& by) noexcept;
  void promote() noexcept;
  void sweep_retired() noexcept;

  balancer* current_ = nullptr;  // of now_: a pick reads nothing else
  std::unique_ptr<stage> now_;
  std::unique_ptr<stage> next_;
  // Those that were replaced: one of their functions may still be running.
  std::unique_ptr<stage> retired_;
  sweep sweep_{*this};
};

}  // namespace coracle::client
