// server_state: the state that a server's shards share, and the way for other threads to reach them.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/signal_watch.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/server_observer.hpp"
#include "coracle/server/server_options.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "net/acceptor.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/kernel/process_signals.hpp"
#include "runtime/loop_service.hpp"
#include "server/http/http_routes.hpp"
#include "server/live_options.hpp"
#include "server/router.hpp"
#include "server/server_registry.hpp"
#include "server/web/web_access.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// Connections that were opened together must not be closed together: the age is 90 % to 110 % of `d` (gRFC
// A9).
[[nodiscard]] duration jittered(duration d, std::uint64_t random) noexcept;

class handover;
struct opened_socket;
class shard;

enum class memory_state : std::uint8_t { high, exceeded };

// The quota that `limits` set, or the default, which is written to the log with its reason.
memory_quota quota_for(runtime& on, const server_options& options);

// Kept alive by the server, its shards and its in-process connectors.
class server_state : public std::enable_shared_from_this<server_state> {
 public:
  server_state(runtime& on, const server_options& o);
  ~server_state();

  // --- any thread
  void make_shards();  // makes the shards; called once
  status listen(std::string_view text, const server_credentials& credentials);
  status adopt(int descriptor, const server_credentials& credentials);
  // The server will run from now on. Otherwise returns the reason why it cannot.
  [[nodiscard]] status begin_to_run();
  void request_stop() noexcept;
  // Nothing without server_options::handover.
  void begin_handover();
  // False if there is nothing to hand over.
  [[nodiscard]] bool start_successor();
  // Why a process must end that was to replace another one; OK if it may stay. After the loops have run.
  [[nodiscard]] status handover_failure() const;
  // From the first listen() on, signals wait for run(). This ends that, for a program that does not call it.
  void restore_signals() noexcept;
  // Cancels the calls that a drain still waits for.
  void cancel_all() noexcept;
  // Closes everything and waits.
  void close() noexcept;
  [[nodiscard]] task<> drain(duration grace);
  [[nodiscard]] task<> serve_until_stopped();
  // detailed: the id of the connection or listener whose snapshot has details; 0: none.
  [[nodiscard]] task<server_snapshot> snapshot(std::uint64_t detailed = 0);
  [[nodiscard]] rpc::event_trace trace() const;
  void record_event(std::string_view text, rpc::traced_event::severity level) noexcept;
  // A listener that does not speak plaintext.
  struct secured_listener {
    net::address local;
    std::shared_ptr<security::server_security> security;
  };
  [[nodiscard]] std::vector<secured_listener> secured_listeners() const;
  // Runs f(shard*) on the loop of shard `i`, with null if the shard has gone in the meantime. Returns false,
  // without running f, if it has gone already.
  template <class F>
  bool with_shard(std::size_t i, F f) {
    return shard_handles_[i]->run_on_loop(
        [self = shared_from_this(), i, f = std::move(f)]() mutable { f(self->shards_[i]); });
  }
  [[nodiscard]] std::size_t size() const noexcept { return shard_handles_.size(); }
  [[nodiscard]] loop& loop_of(std::size_t i) const noexcept { return owner.at(i); }

  // --- a shard's loop
  [[nodiscard]] shard* shard_of(loop& where) const noexcept { return shards_[where.index()]; }
  // The number of connections of a loop: incremented before a connection is handed over, decremented by the
  // shard.
  [[nodiscard]] std::atomic<std::size_t>& load_of(loop& where) noexcept { return loads_[where.index()]; }
  // Notifies the other shards of this server, except the one on `but`, and those of the servers that share
  // the quota.
  void notify_other_loops(loop& but, memory_state change) noexcept;
  void forget(loop& where) noexcept { shards_[where.index()] = nullptr; }  // called by the shard

  // Any thread, when all methods are known.
  [[nodiscard]] std::shared_ptr<const live_options> live();
  // See server::reload(). Any thread.
  void reload(const server_options& now);
  // See server::reload_on_hangup().
  void set_reader(std::function<server_options()> read);
  [[nodiscard]] server_limits limits() const;

  // --- loop 0
  // A successor has taken over all addresses but these: the server drains.
  void replaced(const std::vector<net::address>& given_up) noexcept;
  // The process that was to replace this one has failed. Loop 0.
  void resumed() noexcept;
  // `security` is null for plaintext.
  void accepted(runtime_internal::handle connection,
                const std::shared_ptr<security::server_security>& security) noexcept;

  // --- the loop of the connection
  void adopt_connection(shard* by, loop& on, runtime_internal::handle connection,
                        security::server_security* security) noexcept;

  runtime& owner;
  server_options options;  // does not change before close(); live() has what reload() changes
  const web_access access;
  memory_quota memory;
  // Held by each function that sets the server up. Loops read the members below without it: their first
  // connection comes later.
  std::mutex setting_up;
  router routes;
  http_routes http;
  std::vector<std::shared_ptr<service>> kept_services;
  std::vector<std::shared_ptr<server_interceptor>> interceptors;
  std::vector<std::shared_ptr<server_observer>> observers;
  // Under the lock.
  void add_observer(std::shared_ptr<server_observer> o);
  bool adopted_some = false;  // connections of the program: run() needs no address then
  std::string loopback_reason;  // why listen() takes loopback addresses and UNIX sockets only; may be empty
  status listen_failure;
  bool listening = false;
  std::vector<net::address> addresses;  // of the listeners
  const std::uint64_t id;  // for channelz
  std::atomic<std::size_t> calls{0};  // of all loops; counted only if server_limits::calls is set
  std::atomic<bool> draining{false};
  std::atomic<std::uint16_t> port{0};

 private:
  status try_to_listen(std::string_view text, const server_credentials& credentials);
  [[nodiscard]] std::size_t least_loaded() noexcept;
  void refuse(runtime_internal::handle connection, std::string_view reason) noexcept;
  void join_quota();
  void notify_shards(const loop* but, memory_state change) noexcept;
  void defer_signals();
  [[nodiscard]] result<net::signal_watch> open_signals();
  task<> watch_signals(net::signal_watch& signals);
  task<> watch_hangups(std::function<server_options()> read);
  // Under reloading_.
  [[nodiscard]] std::shared_ptr<const live_options> made_of(const reloadable_options& o) const;
  task<> serve();
  [[nodiscard]] result<std::vector<opened_socket>> open_sockets(std::string_view text);
  [[nodiscard]] bool is_replaced() const noexcept;
  [[nodiscard]] bool is_other_process_serving() const noexcept;
  [[nodiscard]] task<> end_handover();
  void end_kept_sockets() noexcept;
  [[nodiscard]] task<> close_listeners();
  void announce_leaving();
  task<> leave();
  task<> until_hurry();
  task<> drain_with_configured_grace();

  const std::shared_ptr<server_registry> registry_;
  mutable std::mutex reloading_;
  reloadable_options reloadable_;  // under that lock, like the next one
  std::shared_ptr<const live_options> live_;  // null until the first connection
  std::function<server_options()> read_options_;  // under setting_up
  mutable std::mutex trace_mutex_;
  rpc::event_trace trace_;
  mutable std::mutex secured_mutex_;
  std::vector<secured_listener> secured_;
  std::vector<shard*> shards_;  // by loop; each entry belongs to its loop
  std::vector<std::shared_ptr<runtime_internal::loop_service_handle>> shard_handles_;
  std::vector<std::atomic<std::size_t>> loads_;  // connections, by loop
  std::vector<std::atomic<bool>> memory_requested_;
  std::atomic<bool> runs_{false};
  std::atomic<bool> started_{false};  // by run() or start()
  std::mutex deferred_signals_mutex_;
  std::unique_ptr<runtime_internal::kernel::deferred_signals> deferred_signals_;
  std::atomic<std::size_t> connections_max_;  // server_limits::connections
  std::size_t next_ = 0;  // which loop gets the next connection if all have the same load
  // Used on loop 0 only.
  event<> stop_requested_event_;
  event<> hurry_;  // a second signal: leave_time is over
  std::atomic<bool> leaving_{false};
  // SIGINT or SIGTERM has arrived. The first one cancels no call of a server that a successor has replaced:
  // who has sent it may have meant the server, and cannot know that its process is another one now.
  bool stop_signalled_ = false;
  // Null: none, or no listen() yet. The first listen(), on any thread, makes it; loops read it meanwhile.
  std::atomic<handover*> handover_{nullptr};
  std::unique_ptr<handover> owned_handover_;
  bool serving_ = false;  // serve() waits for stop_requested_event_
};

}  // namespace coracle::server_internal
