// channel_state: what the shards of a channel share; connects the channel, its channel_home and its shards.
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

// Kept alive by the channel, by its home and by each shard.
class channel_state final : public attempt_source, public rpc::shown_channel {
 public:
  channel_state(runtime& on, destination where, std::shared_ptr<dialer> by, channel_credentials credentials,
                channel_options o);

  // --- any thread
  // Registers the channel with the registry of its runtime, until close().
  void show();
  // To be awaited on a loop of any runtime.
  [[nodiscard]] task<rpc::channel_snapshot> figures() override;
  void close() noexcept;
  [[nodiscard]] connectivity state() const noexcept { return state_.load(std::memory_order_acquire); }
  // Returns the last published snapshot; null if there is none yet.
  [[nodiscard]] std::shared_ptr<const snapshot> latest() const;
  // Makes a shard leave IDLE: that of the current loop, or of loop 0 when called elsewhere.
  void connect();

  // --- loops of the runtime
  void begin(call_attempt& a) noexcept override;
  // Returns the shard of the current loop, which it makes if there is none yet; null if the channel or
  // runtime is ending.
  shard* here(loop& current);
  // For a call that begins on the current loop; see call_channel.
  void set_up(call_setup& setup, std::string_view method, loop& current);
  // See call_channel.
  [[nodiscard]] bool wait_for_config(call_attempt& a) noexcept;
  [[nodiscard]] std::string_view secure_authority() const noexcept {
    return how.credentials.secure() || to.in_process ? std::string_view(to.authority) : std::string_view();
  }
  // Called by a shard, on its loop.
  void forget(loop& where) noexcept;
  void report(loop& where, connectivity c) noexcept;
  void note(loop& where, std::string_view what, std::uint64_t subchannel) noexcept;
  void resolve_again() noexcept;

  // --- called by the channel_home, on its loop
  void publish(resolution found);
  void publish_failure(const status& why);
  void forget_home() noexcept;

  runtime& owner;
  const destination to;
  const channel_options options;
  const std::string user_agent;  // empty: the library's own
  const call_target target;
  const connecting how;
  const call_options* const call_defaults;  // null: there are none
  watch<connectivity> news;  // the latest state()
  const std::shared_ptr<const method_configs> own_methods;  // if the resolver provides none

 private:
  [[nodiscard]] std::shared_ptr<channel_state> self() noexcept {
    return std::static_pointer_cast<channel_state>(shared_from_this());
  }
  shard* make_shard(loop& current);
  // before: the last published snapshot; may be null. Returns null, and logs a warning, if a bad service
  // config leaves `before` in effect.
  [[nodiscard]] std::shared_ptr<const snapshot> snapshot_of(const resolution& found,
                                                            const snapshot* before) const;
  void tell_shards();
  // Returns false if the state was the same.
  bool set_state(connectivity c) noexcept;

  std::vector<shard*> shards_;  // by loop; each entry is used only on its loop
  std::vector<call_counts> counts_;  // by loop; each entry is used only on its loop
  const std::uint64_t id_;
  channel_home* home_ = nullptr;  // used only on its loop
  std::atomic<connectivity> state_{connectivity::idle};

  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::shared_ptr<runtime_internal::residence>> doors_;  // by loop; null: no shard yet
  std::shared_ptr<runtime_internal::residence> home_door_;
  std::vector<connectivity> states_;  // by loop
  std::shared_ptr<const snapshot> latest_;
  rpc::event_trace trace_;
  bool closed_ = false;
};

// Implements channel::wait_for_state_change().
task<bool> wait_for_change(std::shared_ptr<channel_state> of, connectivity from, duration at_most);

}  // namespace coracle::client
