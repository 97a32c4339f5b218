// pick_first: sends all calls to one server, the first that it reaches (gRFC A61, RFC 8305).
#pragma once

#include "client/balancing/balancer.hpp"
#include "coracle/coro/executor.hpp"

#include <cstddef>
#include <vector>

namespace coracle::client {

class pick_first_config final : public policy_config {
 public:
  explicit pick_first_config(bool shuffle) noexcept : shuffle_(shuffle) {}
  [[nodiscard]] bool shuffle() const noexcept { return shuffle_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "pick_first"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    return shuffle_ == static_cast<const pick_first_config&>(other).shuffle_;
  }
  [[nodiscard]] std::unique_ptr<balancer> make(balancer_host& host) const override;

 private:
  bool shuffle_;
};

// Connecting is a pass over the list: it starts an attempt, and the next one after 250 ms or when the newest
// has failed; the first subchannel that becomes READY is selected, and all others are dropped. When every
// server has failed once the state becomes TRANSIENT_FAILURE. From then on each server is retried
// independently after its own pause, until one is READY. Losing the selected server leads to IDLE: the next
// call begins a pass from the start.
class pick_first final : public balancer, private subchannel_user, private coro::timer {
 public:
  explicit pick_first(balancer_host& host) noexcept;
  ~pick_first() override;

  void update(const balancing& policy, const std::vector<endpoint>& servers) override;
  void connect() override;
  void start() override { connect(); }
  pick choose(const pick_info&) override { return selected_ ? pick{selected_} : pick{nullptr, &otherwise_}; }

 private:
  // subchannel_user
  void on_state(subchannel& s) override;

  struct entry {
    endpoint where;
    subchannel* at = nullptr;  // null: not tried in this pass
    bool failed = false;  // in this pass
  };
  [[nodiscard]] std::vector<endpoint> in_order(std::vector<endpoint> servers);
  void adopt(std::vector<endpoint> order);
  [[nodiscard]] static bool is_connecting(const entry& e) noexcept;
  void begin_pass();
  void try_next();
  void end_pass_if_all_failed();
  void select(entry& winner);
  void lost(connectivity now);
  void failed(entry& e);
  entry* entry_of(const subchannel& s) noexcept;
  void publish_failure();
  void publish(connectivity c, status reason = {}) noexcept;

  std::vector<entry> list_;
  std::size_t next_ = 0;  // of the pass; list_.size(): every server has been tried
  subchannel* selected_ = nullptr;
  connectivity state_ = connectivity::idle;
  no_server otherwise_{no_server::action::connect, this};  // while no server is selected
  status last_failure_;
  std::size_t failures_ = 0;  // since the last request to the resolver
  bool pass_over_ = false;
  bool shuffle_ = false;
};

}  // namespace coracle::client
