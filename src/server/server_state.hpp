// server_state: what a server's shards share, and how other threads reach them.
#pragma once

#include "base/repeated_line.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/signal_watch.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/credentials.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/server_options.hpp"
#include "coracle/server/server_snapshot.hpp"
#include "net/acceptor.hpp"
#include "runtime/kernel/held_termination.hpp"
#include "runtime/resident.hpp"
#include "server/router.hpp"
#include "transport/connection_options.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

[[nodiscard]] transport::connection_options connection_rules(const server_options& o);

// Connections that came together are not to go together: the age is 90 % to 110 % (gRFC A9).
[[nodiscard]] duration jittered(duration d, std::uint64_t random) noexcept;

class shard;

enum class memory_state : std::uint8_t { pressed, exceeded };

// What `limits` say, or the default, which it writes to the log with its reason.
memory_quota quota_for(runtime& on, const server_limits& limits);

// Kept alive by the server, its shards and its in-process connectors.
class server_state : public std::enable_shared_from_this<server_state> {
 public:
  server_state(runtime& on, const server_options& o);

  // --- any thread
  void settle();  // makes the shards; once
  status listen(std::string_view text, const server_credentials& credentials);
  // What run() has to say instead of running.
  [[nodiscard]] status ready_to_run();
  void request_stop() noexcept;
  // SIGTERM, from the first listen() on: is to wait for run() ...
  void hold_termination();
  void will_run() noexcept { runs_ = true; }
  // ... which asks here whether it came. For who does not call run(), it is given back.
  [[nodiscard]] bool take_termination() noexcept;
  void give_back_termination() noexcept;
  // Stops calls that a drain still waits for.
  void hurry() noexcept;
  // Ends everything and waits.
  void close() noexcept;
  [[nodiscard]] task<> drain(duration grace);
  [[nodiscard]] task<> serve_until_told();
  [[nodiscard]] task<server_snapshot> snapshot();
  // Runs f(shard*) on the i-th shard's loop: null if it has gone meanwhile. False, and f is not run, when it is
  // gone already.
  template <class F>
  bool with_shard(std::size_t i, F f) {
    return doors_[i]->run_there(
        [self = shared_from_this(), i, f = std::move(f)]() mutable { f(self->shards_[i]); });
  }
  [[nodiscard]] std::size_t size() const noexcept { return doors_.size(); }
  [[nodiscard]] loop& loop_of(std::size_t i) const noexcept { return owner.at(i); }

  // --- a shard's loop
  [[nodiscard]] shard* shard_of(loop& where) const noexcept { return shards_[where.index()]; }
  // How many connections a loop has: counted up before they are handed over, down by the shard.
  [[nodiscard]] std::atomic<std::size_t>& load_of(loop& where) noexcept { return loads_[where.index()]; }
  // Tells its other shards than the one on `but`, and the other servers' that share the quota.
  void tell_elsewhere(loop& but, memory_state what) noexcept;
  void forget(loop& where) noexcept { shards_[where.index()] = nullptr; }  // by the shard

  // --- loop 0
  // security: null for plaintext.
  void accepted(runtime_internal::handle connection,
                const std::shared_ptr<security::server_security>& security) noexcept;

  // --- the loop of the connection
  void adopt_connection(shard* by, loop& on, runtime_internal::handle connection,
                        security::server_security* security) noexcept;

  runtime& owner;
  const server_options options;
  const transport::connection_options rules;
  memory_quota memory;
  // Held by each call that sets the server up. Loops read what it fills without it: their first connection comes later.
  std::mutex setting_up;
  router routes;
  std::vector<std::shared_ptr<service>> kept_services;
  std::vector<server_interceptor*> interceptors;
  std::vector<std::shared_ptr<server_interceptor>> kept_interceptors;
  status listen_failure;
  bool listening = false;
  // Of connections and listeners; the last that was given.
  std::atomic<std::uint64_t> last_id{0};
  std::atomic<std::size_t> calls{0};  // of all loops, while server_limits::calls() limits them
  std::atomic<bool> draining{false};
  std::atomic<std::uint16_t> port{0};

 private:
  status try_to_listen(std::string_view text, const server_credentials& credentials);
  [[nodiscard]] std::size_t least_loaded() noexcept;
  void refuse(runtime_internal::handle connection, std::string_view why) noexcept;
  void join_quota();
  void tell_shards(const loop* but, memory_state what) noexcept;
  task<> watch_signals(net::signal_watch& signals);
  task<> serve();
  task<> drain_as_told();

  std::vector<shard*> shards_;  // by loop; each entry is its loop's
  std::vector<std::shared_ptr<runtime_internal::residence>> doors_;
  std::vector<std::atomic<std::size_t>> loads_;  // connections, by loop
  std::vector<std::atomic<bool>> asked_for_room_;
  std::atomic<bool> runs_{false};
  std::mutex holding_;
  std::unique_ptr<runtime_internal::kernel::held_termination> held_termination_;
  std::size_t next_ = 0;  // where the next one goes if all are alike
  repeated_line refused_lines_;
  // On loop 0.
  event<> told_to_stop_;
  bool serving_ = false;  // somebody waits to be told
};

}  // namespace coracle::server_internal
