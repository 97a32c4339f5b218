// shard: a channel on one loop: its connection there, and the calls that wait for one.
#pragma once

#include "client/backoff.hpp"
#include "client/channel_state.hpp"
#include "coracle/base/intrusive_list.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "transport/connection.hpp"

#include <memory>
#include <vector>

namespace coracle::client {

// States as in grpc/grpc doc/connectivity-semantics-and-api.md. Everything happens on the loop.
class shard final : public io::resident, private transport::connection_owner, private coro::timer {
 public:
  shard(std::shared_ptr<channel_state> channel, loop& home);
  ~shard() override;

  void begin(calls::call_attempt& a) noexcept;

 private:
  enum class state : std::uint8_t { idle, connecting, ready, transient_failure, shutdown };

  // io::resident
  void leave() noexcept override;
  // transport::connection_owner
  void on_ready(transport::connection& c) noexcept override;
  void on_slots(transport::connection& c) noexcept override;
  void on_going_away(transport::connection& c) noexcept override;
  void on_closed(transport::connection& c) noexcept override;

  void connect();
  task<> make_connection();
  void attempt_failed(const status& why) noexcept;
  void serve_waiting() noexcept;
  void fail_waiting(const status& why, calls::refusal how) noexcept;
  void leave_if_done() noexcept;

  std::shared_ptr<channel_state> channel_;
  loop& home_;
  state state_ = state::idle;
  backoff backoff_;
  status last_failure_;
  base::intrusive_list<calls::call_attempt> waiting_;
  // The current one last; those before it are going away.
  std::vector<std::unique_ptr<transport::connection>> connections_;
  transport::connection* current_ = nullptr;
  scope work_;  // the attempt to connect
  time_point attempt_began_{};
  bool attempting_ = false;
  bool left_called_ = false;
};

}  // namespace coracle::client
