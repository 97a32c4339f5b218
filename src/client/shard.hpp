// shard: the part of a channel on one loop: its balancer, its subchannels, and the calls that wait.
#pragma once

#include "client/balancing/policy_slot.hpp"
#include "client/call/call_queue.hpp"
#include "client/call/waiting_calls.hpp"
#include "client/channel_state.hpp"
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
// leave IDLE, and channel_options::idle_timeout without a call makes it enter IDLE again. A call for which
// the balancer has no server waits until it publishes a state. A call whose server has no stream waits with
// those of the server's user, in order of arrival, so that servers that are full do not hold up calls to
// others; it is picked for again when one of these servers has a stream. A call that ends meanwhile
// (deadline, cancel) unlinks itself. If more calls wait than channel_options::max_waiting_calls permits, a
// call that begins to wait displaces another one, in whichever queue that is.
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
  void configure(call_setup& setup, std::string_view path) const noexcept {
    setup.config = methods_ ? methods_->find(path) : nullptr;
    setup.router = router_.get();
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
  subchannel& make_subchannel(const endpoint& to, subchannel_user& user) override;
  void drop_subchannel(subchannel& s) noexcept override;
  void publish(connectivity c, const status& reason) noexcept override;
  void take_waiting(call_queue& calls) noexcept override { waiting_.take(calls); }
  void resolve_again() noexcept override;
  [[nodiscard]] const std::optional<std::string>& health_service() const noexcept override {
    return health_service_;
  }
  [[nodiscard]] loop& owner_loop() const noexcept override { return loop_; }
  [[nodiscard]] std::string_view target() const noexcept override;
  [[nodiscard]] std::shared_ptr<shared_by_loops> shared(std::string_view name,
                                                        shared_by_loops_maker make) override;
  void out_of_memory() noexcept override;

  // Uses the latest snapshot.
  void update() noexcept;
  void apply(const snapshot& latest);
  void start_over() noexcept;
  // Gives a call to a server or to a list, or fails it. One that waits stays linked until then, by which it
  // knows that it has waited.
  void place(call_attempt& a) noexcept;
  void place_at(call_attempt& a, pick p) noexcept;
  void place_without_server(call_attempt& a, const no_server& why) noexcept;
  void place_without_balancer(call_attempt& a) noexcept;
  // Returns false if the server has no stream for the call.
  bool open(call_attempt& a, subchannel& at) noexcept;
  void wait(call_attempt& a, call_queue& list) noexcept;
  void wait_for_stream(call_attempt& a, subchannel& at, call_queue& list) noexcept;
  void displace(call_attempt& a) noexcept;
  void record_queued(const call_attempt& a) noexcept;
  // Picks again for the calls that had no server.
  void serve_waiting() noexcept;
  // Picks again for those that wait for the user of this server, until one of them must still wait.
  void serve_waiting_for(const subchannel& s) noexcept;
  void serve_own_queue(const subchannel& s) noexcept;
  void fail_waiting_in(call_queue& list) noexcept;
  void configure_waiting() noexcept;
  void check_idle() noexcept;
  void enter_idle() noexcept;
  void connect(connectable& idle) noexcept;
  void drop_balancer() noexcept;
  void remove(const subchannel& s) noexcept;
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
  bool updating_ = false;  // the balancer gets its policy and servers: calls wait meanwhile
  policy_slot balancer_;
  balancer* chooser_ = nullptr;  // balancer_, while it may choose
  std::optional<std::string> health_service_;  // of balancer_
  std::uint32_t connections_max_ = 1;  // of a subchannel
  status last_failure_;  // of the balancer, or of the resolver if there is none
  std::shared_ptr<const method_configs> methods_;  // of the latest snapshot; null: none
  std::shared_ptr<const call_router> router_;  // the same
  bool configured_ = false;  // a snapshot with servers has been published, with or without a service config
  call_queue unconfigured_;  // calls that wait for that
  call_queue waiting_;  // calls that have no server
  waiting_calls all_waiting_;  // those of all queues, if they have a maximum
  connection_bytes bytes_before_;  // of subchannels that are gone
  std::vector<std::unique_ptr<subchannel>> subchannels_;  // by place(), including those that are leaving
};

}  // namespace coracle::client
