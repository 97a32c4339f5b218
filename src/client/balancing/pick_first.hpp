// pick_first: sends all calls to one server, the first that it reaches (gRFC A61, RFC 8305).
#pragma once

#include "client/balancing/balancer.hpp"
#include "coracle/coro/executor.hpp"

#include <cstddef>
#include <vector>

namespace coracle::client {

// Connecting is a pass over the list: it starts an attempt, and the next one after 250 ms or when the newest
// has failed; the first subchannel that becomes READY is selected, and all others are dropped. When every
// server has failed once the state becomes TRANSIENT_FAILURE. From then on each server is retried
// independently after its own pause, until one is READY. Losing the selected server leads to IDLE: the next
// call begins a pass from the start.
class pick_first final : public balancer, private coro::timer {
 public:
  pick_first(balancer_host& host, bool shuffle) noexcept;
  ~pick_first() override;

  void update(const std::vector<endpoint>& servers) override;
  void on_state(subchannel& s) override;
  void connect() override;
  pick choose(const pick_info&) override { return {selected_, false}; }

 private:
  struct entry {
    endpoint where;
    subchannel* at = nullptr;  // null: not tried in this pass
    bool failed = false;  // in this pass
  };
  [[nodiscard]] std::vector<endpoint> in_order(std::vector<endpoint> servers);
  void adopt(std::vector<endpoint> order);
  void begin_pass();
  void try_next();
  void end_pass_if_all_failed();
  void select(entry& winner);
  void lost(connectivity now);
  void failed(entry& e);
  entry* entry_of(const subchannel& s) noexcept;
  void publish_failure();

  std::vector<entry> list_;
  std::size_t next_ = 0;  // of the pass; list_.size(): every server has been tried
  subchannel* selected_ = nullptr;
  connectivity state_ = connectivity::idle;
  status last_failure_;
  std::size_t failures_ = 0;  // since the last request to the resolver
  bool pass_over_ = false;
  const bool shuffle_;
};

}  // namespace coracle::client
