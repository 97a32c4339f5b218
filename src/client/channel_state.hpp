// channel_state: what the shards of a channel share, and how the channel, its home and its shards reach each other.
#pragma once

#include "client/call_attempt.hpp"
#include "client/call_setup.hpp"
#include "client/channel_home.hpp"
#include "client/destination.hpp"
#include "client/method_config.hpp"
#include "client/subchannel.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/coro/watch.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/resident.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

class channel_home;
class shard;

// Kept alive by the channel, its home and each shard.
class channel_state final : public attempt_source, public rpc::shown_channel {
 public:
  channel_state(runtime& on, destination where, std::shared_ptr<dialer> by, channel_credentials credentials,
                channel_options o);

  // --- any thread
  // In the registry of its runtime, until close().
  void show();
  // Of any runtime's loop.
  [[nodiscard]] task<rpc::channel_snapshot> figures() override;
  void close() noexcept;
  [[nodiscard]] connectivity state() const noexcept { return state_.load(std::memory_order_acquire); }
  // What was published last; null: nothing yet.
  [[nodiscard]] std::shared_ptr<const snapshot> latest() const;
  // Has the current loop's shard (a loop's, off loops: loop 0's) leave IDLE.
  void connect();

  // --- loops of the runtime
  void begin(call_attempt& a) noexcept override;
  // The current loop's shard, made when there is none yet; null when the channel or runtime is ending.
  shard* here(loop& current);
  // For a call that begins on the current loop; see call_channel.
  void set_up(call_setup& setup, std::string_view method, loop& current);
  // Likewise.
  [[nodiscard]] bool wait_for_config(call_attempt& a) noexcept;
  [[nodiscard]] std::string_view secure_authority() const noexcept {
    return how.credentials.secure() || to.in_process ? std::string_view(to.authority) : std::string_view();
  }
  // By a shard, on its loop.
  void forget(loop& where) noexcept;
  void report(loop& where, connectivity c) noexcept;
  void note(loop& where, std::string_view what, std::uint64_t subchannel) noexcept;
  void resolve_again() noexcept;

  // --- by the home, on its loop
  void publish(resolution found);
  void publish_failure(const status& why);
  void forget_home() noexcept;

  runtime& owner;
  const destination to;
  const channel_options options;
  const std::string user_agent;  // empty: the library's own
  const call_target target;
  const connecting how;
  const call_options* const call_defaults;  // null: none were given
  watch<connectivity> news;  // the latest state()
  const std::shared_ptr<const method_configs> own_methods;  // where the resolver brings none

 private:
  [[nodiscard]] std::shared_ptr<channel_state> self() noexcept {
    return std::static_pointer_cast<channel_state>(shared_from_this());
  }
  shard* make_shard(loop& current);
  // before: what was published last, may be null. Null, with a line in the log, when a bad service config leaves
  // `before` as it is.
  [[nodiscard]] std::shared_ptr<const snapshot> snapshot_of(const resolution& found,
                                                            const snapshot* before) const;
  void tell_shards();
  // False when it was the same.
  bool set_state(connectivity c) noexcept;

  std::vector<shard*> shards_;  // by loop; each entry is its loop's
  std::vector<call_counts> counts_;  // likewise
  const std::uint64_t id_;
  channel_home* home_ = nullptr;  // its loop's
  std::atomic<connectivity> state_{connectivity::idle};

  mutable std::mutex mutex_;  // of what follows
  std::vector<std::shared_ptr<runtime_internal::residence>> doors_;  // by loop; null: no shard yet
  std::shared_ptr<runtime_internal::residence> home_door_;
  std::vector<connectivity> states_;  // by loop
  std::shared_ptr<const snapshot> latest_;
  rpc::event_trace trace_;
  bool closed_ = false;
};

// task<bool> behind channel::wait_for_state_change().
task<bool> wait_for_change(std::shared_ptr<channel_state> of, connectivity from, duration at_most);

}  // namespace coracle::client
