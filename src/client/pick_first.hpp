// pick_first: all calls to one server, the first that can be reached (gRFC A61, RFC 8305).
#pragma once

#include "client/balancer.hpp"
#include "coracle/coro/executor.hpp"

#include <cstddef>
#include <vector>

namespace coracle::client {

// Connecting is a pass over the list: an attempt, the next one beside it after 250 ms or when the newest has
// failed, and the first to be READY wins; all others are dropped. When every one has failed once the state is
// TRANSIENT_FAILURE and stays so; from then on each server is tried again by itself after its own pause, until one is
// READY. A server that was lost leaves IDLE: the next call begins a pass from the front.
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
  std::size_t next_ = 0;  // of the pass; list_.size(): every one has had its turn
  subchannel* selected_ = nullptr;
  connectivity state_ = connectivity::idle;
  status last_failure_;
  std::size_t failures_ = 0;  // since the last question to the resolver
  bool pass_over_ = false;
  const bool shuffle_;
};

}  // namespace coracle::client
