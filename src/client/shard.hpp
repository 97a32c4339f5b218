// shard: the part of a channel on one loop: its balancer, its subchannels, and the calls that wait.
#pragma once

#include "client/balancing/balancer.hpp"
#include "client/call/call_attempt.hpp"
#include "client/channel_state.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/client/connection_bytes.hpp"
#include "coracle/client/connectivity.hpp"
#include "runtime/loop_service.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

// Everything runs on the loop. In IDLE the shard has no balancer and no connection. The first call makes it
// leave IDLE, and channel_options::idle_timeout without a call makes it enter IDLE again. A call that gets
// no stream waits in one list, in order of arrival, and is picked for again when the balancer publishes a
// state or a stream becomes free. A call that ends meanwhile (deadline, cancel) unlinks itself.
//
// The shard outlives the calls in progress on its loop. When the channel is retired, it ends after the last
// of them; when the channel is closed or the runtime stops, it ends them.
class shard final : public runtime_internal::loop_service,
                    private subchannel_owner,
                    private balancer_host,
                    private coro::timer,
                    private coro::runnable {
 public:
  // latest: the last published snapshot; may be null.
  shard(std::shared_ptr<channel_state> channel, loop& owner_loop, call_counts& calls,
        const std::shared_ptr<const snapshot>& latest);
  ~shard() override;

  void begin(call_attempt& a) noexcept;
  [[nodiscard]] const method_config* config_for(std::string_view path) const noexcept {
    return methods_ ? methods_->find(path) : nullptr;
  }
  // See call_channel.
  [[nodiscard]] bool wait_for_config(call_attempt& a) noexcept;
  // Leaves IDLE.
  void exit_idle() noexcept;
  void add_to(rpc::channel_snapshot& whole, std::uint64_t detailed) const;
  // Of a subchannel that is READY; null if there is none, or in plaintext.
  [[nodiscard]] std::shared_ptr<const auth_context> server_auth() const;
  // Of all connections, including closed ones.
  [[nodiscard]] connection_bytes bytes() const noexcept;

 private:
  // runtime_internal::loop_service
  void begin_shutdown() noexcept override;
  void retire() noexcept override;
  // The channel_resolver has published a snapshot, or start_over() is due.
  void notified() noexcept override;
  // subchannel_owner
  void on_state(subchannel& s) noexcept override;
  void on_slots(subchannel& s) noexcept override;
  void on_drained(subchannel& s) noexcept override;
  // balancer_host
  subchannel& make_subchannel(const endpoint& to) override;
  void drop_subchannel(subchannel& s) noexcept override;
  void publish(connectivity c, const status& reason) noexcept override;
  void resolve_again() noexcept override;
  [[nodiscard]] const std::optional<std::string>& health_service() const noexcept override {
    return health_service_;
  }
  [[nodiscard]] loop& owner_loop() const noexcept override { return loop_; }
  void out_of_memory() noexcept override;

  // Uses the latest snapshot.
  void update() noexcept;
  void apply(const snapshot& latest);
  void start_over() noexcept;
  // Returns false if the call has to wait.
  bool serve(call_attempt& a) noexcept;
  void begin_pending(call_attempt& a) noexcept;
  // Queues a call until it can be served.
  void wait(call_attempt& a) noexcept;
  void record_queued(const call_attempt& a) noexcept;
  void serve_waiting() noexcept;
  void fail_waiting() noexcept;
  void fail_waiting_in(base::intrusive_list<call_attempt>& list) noexcept;
  void configure_waiting() noexcept;
  void check_idle() noexcept;
  void enter_idle() noexcept;
  void connect_balancer() noexcept;
  void record_event(const subchannel& s, const char* event) noexcept;
  void await_calls() noexcept;
  void calls_ended() noexcept;
  void finish_if_done() noexcept;

  std::shared_ptr<channel_state> channel_;
  loop& loop_;
  call_counts& calls_;
  connectivity state_ = connectivity::idle;
  bool used_ = false;  // a call has begun since the idle timer was last checked
  bool active_ = false;
  bool awaiting_calls_ = false;  // calls_ended() follows
  bool shutdown_reported_ = false;
  bool out_of_memory_ = false;  // start_over() follows
  std::unique_ptr<balancer> balancer_;
  std::optional<std::string> health_service_;  // of balancer_
  balancing balancing_ = balancing::pick_first();  // of balancer_
  std::uint32_t connections_max_ = 1;  // of a subchannel
  status last_failure_;
  std::shared_ptr<const method_configs> methods_;  // of the latest snapshot; null: none
  bool configured_ = false;  // a snapshot with servers has been published, with or without a service config
  base::intrusive_list<call_attempt> unconfigured_;  // calls that wait for that
  base::intrusive_list<call_attempt> waiting_;
  connection_bytes bytes_before_;  // of subchannels that are gone
  std::vector<std::unique_ptr<subchannel>> subchannels_;  // including those that are leaving
};

}  // namespace coracle::client
