// spread_balancer: connects to every server; a pick_policy chooses among those that are READY.
#pragma once

#include "client/balancing/balancer.hpp"
#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace coracle::client {

// Begins at a server drawn from `seed`, so that many clients that start together do not all begin with the
// first.
std::unique_ptr<pick_policy> make_round_robin(std::uint64_t seed);
// gRFC A48: draws `choices` servers, with repetition, and picks the one with the fewest calls in flight.
std::unique_ptr<pick_policy> make_least_request(std::uint64_t seed, std::uint32_t choices);
// Picks in turn, in proportion to the weights: a stride scheduler, O(log n) per pick.
std::unique_ptr<pick_policy> make_weighted(std::uint64_t seed);

// Reconnects to a server at once when its connection is lost or its pause has passed, even without calls. The
// state is READY with at least one READY server; else CONNECTING while a server connects that has not failed
// since it was last READY; else TRANSIENT_FAILURE.
class spread_balancer final : public balancer, private load_listener {
 public:
  spread_balancer(balancer_host& host, std::unique_ptr<pick_policy> policy) noexcept
      : balancer(host), policy_(std::move(policy)) {}
  ~spread_balancer() override;

  void update(const std::vector<endpoint>& servers) override;
  void on_state(subchannel& s) override;
  void connect() override {}  // it always connects
  pick choose(const pick_info& call) override;

 private:
  struct entry {
    subchannel* at;
    bool ready = false;
    bool failed = false;  // and has not been READY since
  };
  // load_listener
  void on_load(subchannel& s, const load_report& load) noexcept override {
    policy_->load_reported(pick_candidate(s), load);
  }
  void gather_ready();
  void publish_state();

  std::unique_ptr<pick_policy> policy_;
  std::vector<entry> servers_;
  std::vector<pick_candidate> ready_;
  status last_failure_;
};

}  // namespace coracle::client
