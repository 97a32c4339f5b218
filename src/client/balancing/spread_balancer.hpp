// spread_balancer: connects to every server; a pick_policy chooses among those that are READY.
#pragma once

#include "client/balancing/balancer.hpp"
#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace coracle::client {

// A policy that picks among the servers that are READY.
class spread_config final : public policy_config {
 public:
  struct simple {
    std::unique_ptr<pick_policy> (*make)(std::uint64_t seed, std::uint32_t choices);
    std::uint32_t choices = 0;
    friend bool operator==(const simple&, const simple&) = default;
  };
  // Of the program: two functions cannot be compared, so that they are the same if their owner is.
  using of_program = std::shared_ptr<const pick_policy_maker>;
  using which = std::variant<simple, slow_start_options, weighted_round_robin_options, of_program>;

  explicit spread_config(which w) noexcept : which_(std::move(w)) {}
  [[nodiscard]] std::unique_ptr<pick_policy> make_policy(const balancer_host& host) const;
  [[nodiscard]] std::string_view family() const noexcept override { return "spread"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return which_ == static_cast<const spread_config&>(other).which_;
  }
  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] rpc::policy_outline outline() const override;
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  which which_;
};

// Begins at a server drawn from `seed`, so that many clients that start together do not all begin with the
// first.
std::unique_ptr<pick_policy> make_round_robin(std::uint64_t seed, std::uint32_t);
// gRFC A48: draws `choices` servers, with repetition, and picks the one with the fewest calls in flight.
std::unique_ptr<pick_policy> make_least_request(std::uint64_t seed, std::uint32_t choices);
// Picks in turn, in proportion to the weights: a stride scheduler, O(log n) per pick.
std::unique_ptr<pick_policy> make_weighted(std::uint64_t seed, std::uint32_t);

// Reconnects to a server at once when its connection is lost or its pause has passed, even without calls. The
// state is READY with at least one READY server; else CONNECTING while a server connects that has not failed
// since it was last READY; else TRANSIENT_FAILURE.
class spread_balancer final : public balancer, private subchannel_user, private load_listener {
 public:
  explicit spread_balancer(balancer_host& host) noexcept : balancer(host), subchannel_user(true) {}
  ~spread_balancer() override;

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override {}  // it always connects
  pick choose(const pick_info& call) override;

 private:
  // subchannel_user
  void on_state(subchannel& s) override;

  struct entry {
    subchannel* at;
    bool ready = false;
    bool failed = false;  // and has not been READY since
  };
  // load_listener
  void on_load(subchannel& s, const load_report& load) noexcept override;
  void set_policy(const balancing& policy);
  void note_state(entry& e);
  // Tells the policy which servers are READY now. Returns false if memory ran out.
  bool gather_ready() noexcept;
  void publish_state();
  void publish(connectivity c, status reason = {}) noexcept;

  std::optional<balancing> configured_;
  std::unique_ptr<pick_policy> policy_;  // as configured
  std::vector<entry> servers_;  // each subchannel has its index
  bool listed_ = false;  // there are servers, perhaps without a weight
  std::size_t ready_servers_ = 0;
  std::size_t failed_servers_ = 0;
  // As of the last pick: states that change together are gathered once.
  std::vector<pick_candidate> ready_;
  bool ready_changed_ = false;
  no_server otherwise_;  // while none is ready
  status last_failure_;
};

}  // namespace coracle::client
