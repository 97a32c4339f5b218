// channel_state: what the shards of a channel share; connects the channel, its channel_resolver and its
// shards.
#pragma once

#include "client/balancing/balancer.hpp"
#include "client/call/call_attempt.hpp"
#include "client/call/call_setup.hpp"
#include "client/call/method_config.hpp"
#include "client/naming/channel_resolver.hpp"
#include "client/naming/destination.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/client/connection_bytes.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/loop_service.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

class change_wait;
class channel_resolver;
class shard;

// The implementation of a channel. Kept alive by the handles together (open()), by its resolver and by each
// shard, and with the shards by the calls in progress: see call_counts.
class channel_state final : public call_channel,
                            public rpc::channelz_entry,
                            public std::enable_shared_from_this<channel_state> {
 public:
  channel_state(runtime& on, destination where, std::shared_ptr<dialer> by, channel_credentials credentials,
                channel_options o);
  ~channel_state();

  // Registers the channel with the registry of its runtime, and returns the first handle. When all copies of
  // it are dropped, the channel is retired.
  [[nodiscard]] static std::shared_ptr<call_channel> open(std::shared_ptr<channel_state> made);

  // --- any thread
  // To be awaited on a loop of any runtime.
  [[nodiscard]] task<rpc::channel_snapshot> stats(std::uint64_t detailed) override;
  [[nodiscard]] std::string_view target_name() const noexcept override { return to.name; }
  [[nodiscard]] std::shared_ptr<security::client_security> security() const noexcept override {
    return params.credentials.security();
  }
  void runtime_ended() noexcept override;
  // Ends the calls.
  void close() noexcept;
  // Refuses new calls: the state is SHUTDOWN. The shards end when their calls have ended.
  void begin_shutdown() noexcept;
  [[nodiscard]] connectivity current() const noexcept { return state_.load(std::memory_order_acquire); }
  // Of the current loop's connections; zero on another runtime.
  [[nodiscard]] connection_bytes bytes() const noexcept;
  // Whether the shards and the resolver have ended.
  [[nodiscard]] bool all_ended() const noexcept;
  // Returns the last published snapshot; null if there is none yet.
  [[nodiscard]] std::shared_ptr<const snapshot> latest() const;
  // Of a READY connection of the current loop; null if there is none, or in plaintext.
  [[nodiscard]] std::shared_ptr<const auth_context> server_auth();
  // Makes a shard leave IDLE: that of the current loop, or of loop 0 when called elsewhere.
  void connect();
  // Throws usage_error if the runtime has ended.
  [[nodiscard]] runtime& owner() const;

  // --- call_channel
  // For calls that set_up() has accepted.
  void begin(call_attempt& a) noexcept override;
  void set_up(call_setup& setup, std::string_view method, loop& current) override;
  [[nodiscard]] status refusal(loop& current) noexcept override;
  [[nodiscard]] bool wait_for_config(call_attempt& a) noexcept override;
  // A loop of the background runtime if the runtime has ended: the call fails there.
  [[nodiscard]] loop& blocking_loop() override;
  [[nodiscard]] bool runs_on(const runtime& r) override {
    return &r == open_on_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool runtime_has_ended() noexcept override;
  [[nodiscard]] bool post(loop& where, coro::runnable& w) noexcept override;
  const call_options* defaults() noexcept override { return call_defaults_; }
  std::span<const std::shared_ptr<client_interceptor>> interceptors() noexcept override {
    return options.interceptors;
  }
  std::shared_ptr<call_channel> handle() noexcept override { return handle_.lock(); }
  std::shared_ptr<channel_state> state() noexcept override { return shared_from_this(); }

  // --- loops of the runtime
  [[nodiscard]] std::string_view secure_authority() const noexcept {
    return is_private ? std::string_view(to.authority) : std::string_view();
  }
  // Called by a shard, on its loop: it takes no more calls, has closed its connections.
  void forget(loop& where) noexcept;
  void shard_ended() noexcept;
  // Why a shard ends its calls.
  [[nodiscard]] status end_reason() const;
  void report(loop& where, connectivity c) noexcept;
  // Runs on a loop of the runtime.
  void record_event(loop& where, std::string_view text, rpc::traced_event::severity level,
                    std::uint64_t subchannel = 0) noexcept;
  void resolve_again() noexcept;
  // See balancer_host.
  [[nodiscard]] std::shared_ptr<shared_by_loops> shared(std::string_view name, shared_by_loops_maker make,
                                                        std::uint64_t seed);

  // --- called by the channel_resolver, on its loop
  void publish(resolution found);
  void publish_failure(const status& reason);
  void forget_resolver() noexcept;
  void resolver_ended() noexcept;

  const destination to;
  const channel_options options;
  const std::string user_agent;  // empty: the library's own
  const call_target target;
  const connect_params params;
  const bool is_private;  // every connection is
  const std::shared_ptr<const method_configs> own_methods;  // if the resolver provides none

 private:
  friend class change_wait;
  // Returns the shard of the current loop, a loop of the runtime. Makes it if there is none yet; null if the
  // channel or runtime is ending. Throws std::bad_alloc if there is no memory for it.
  shard* shard_on(loop& current);
  shard* make_shard(loop& current);
  // The last handle was dropped.
  void retire() noexcept;
  // Under the mutex.
  void request_retirement() noexcept;
  void on_last_shard_ended() noexcept;
  [[nodiscard]] bool refuses() const noexcept { return retiring_ || closed_ || ended_; }
  void notify_waiting() noexcept;
  // before: the last published snapshot; may be null. Returns null, and logs a warning, if a bad service
  // config leaves `before` in effect.
  [[nodiscard]] std::shared_ptr<const snapshot> snapshot_of(const resolution& found, const snapshot* before);
  // Records what is not as before. Under the mutex.
  void trace_changes(const snapshot& next);
  void update_shards() noexcept;
  // Under the mutex. Returns false if the state was the same.
  bool set_state(connectivity c) noexcept;

  // The runtime, while new calls may begin; else null. A runtime that is made later at the same address is
  // another one.
  std::atomic<runtime*> open_on_;
  const call_options* const call_defaults_;  // null: there are none
  const std::shared_ptr<client_observer> observer_;  // null: there is none
  runtime& runtime_;  // must not be accessed once ended_ is set
  std::weak_ptr<call_channel> handle_;
  std::vector<shard*> shards_;  // by loop; each entry is used only on its loop
  std::vector<call_counts>
      counts_;  // by loop; each entry is used only on its loop, by the shard and the calls
  const std::uint64_t id_;
  std::atomic<connectivity> state_{connectivity::idle};

  mutable std::mutex mutex_;  // guards what follows
  // by loop; null: no shard yet
  std::vector<std::shared_ptr<runtime_internal::loop_service_handle>> shard_handles_;
  std::shared_ptr<runtime_internal::loop_service_handle> resolver_handle_;
  std::vector<connectivity> states_;  // by loop
  std::shared_ptr<const snapshot> latest_;
  shared_parts shared_;
  rpc::event_trace trace_;
  std::size_t shards_alive_ = 0;
  base::intrusive_list<change_wait> waiting_;
  bool resolver_alive_ = false;
  bool shutting_down_ = false;  // begin_shutdown()
  bool retiring_ = false;  // no call begins any more
  bool closed_ = false;
  bool ended_ = false;  // the runtime
};

// A coroutine's wait for changes of a channel, on any loop. Lives in the coroutine's frame.
class change_wait : public base::list_hook {
 public:
  explicit change_wait(std::shared_ptr<channel_state> of);
  ~change_wait();
  change_wait(const change_wait&) = delete;
  change_wait& operator=(const change_wait&) = delete;
  // Forgets the changes so far: call it before looking at the channel.
  void reset() { changed_.reset(); }
  [[nodiscard]] task<> changed();

 private:
  friend class channel_state;
  std::shared_ptr<channel_state> of_;
  event<> changed_;
};

// Implements channel::wait_for_state_change().
task<bool> wait_for_change(std::shared_ptr<channel_state> of, connectivity from, duration at_most);
// Implements channel::shutdown().
task<> shut_down(std::shared_ptr<channel_state> of);

}  // namespace coracle::client
