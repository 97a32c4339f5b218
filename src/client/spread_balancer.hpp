// spread_balancer: connects to every server; a pick_policy chooses among those that are READY.
#pragma once

#include "client/balancer.hpp"

#include <memory>
#include <vector>

namespace coracle::client {

// A server that was lost, or whose pause is over, is connected to again at once, whether anybody calls or not. READY
// with one READY server; else CONNECTING while one is tried that has not failed since it was READY last; else
// TRANSIENT_FAILURE.
class spread_balancer final : public balancer {
 public:
  spread_balancer(balancer_host& host, std::unique_ptr<pick_policy> policy) noexcept
      : balancer(host), policy_(std::move(policy)) {}
  ~spread_balancer() override;

  void update(const std::vector<endpoint>& servers) override;
  void on_state(subchannel& s) override;
  void connect() override {}  // it always does
  pick choose(const pick_info& call) override;

 private:
  struct entry {
    subchannel* at;
    bool ready = false;
    bool failed = false;  // and not READY since
  };
  void gather_ready();
  void publish_state();

  std::unique_ptr<pick_policy> policy_;
  std::vector<entry> servers_;
  std::vector<pick_candidate> ready_;
  status last_failure_;
};

}  // namespace coracle::client
