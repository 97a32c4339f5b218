// subchannel: the connections of one loop to one server, and their state.
#pragma once

#include "client/balancing/health_watch.hpp"
#include "client/balancing/load_watch.hpp"
#include "client/balancing/subchannel_instruments.hpp"
#include "client/connecting/backoff.hpp"
#include "client/connecting/dialer.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/client/call_credentials.hpp"
#include "coracle/client/connection_bytes.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/security/credentials.hpp"
#include "rpc/channel_registry.hpp"
#include "transport/exchange.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

class call_attempt;
class subchannel;

// Of the event that a state was reached.
[[nodiscard]] constexpr rpc::traced_event::severity severity_of(connectivity c) noexcept {
  using severity = rpc::traced_event::severity;
  return c == connectivity::transient_failure ? severity::warning : severity::info;
}

// Uses a subchannel until it is dropped: a balancer, or a part of one.
class subchannel_user {
 public:
  // state() may have changed since the last call; see subchannel_owner. May throw std::bad_alloc.
  virtual void on_state(subchannel& s) = 0;

  // The calls that wait for a stream of one of its subchannels, in order of arrival. The shard fills and
  // empties it. A user hands over those that are left to its host before it ends, or drops a subchannel.
  base::intrusive_list<call_attempt> waiting;
  // Whether outliers among its servers may be ejected (gRFC A50): it has others to choose from.
  const bool has_choice;

 protected:
  explicit subchannel_user(bool choice) noexcept : has_choice(choice) {}
  ~subchannel_user() = default;
};

// Called on the loop of the subchannel.
class subchannel_owner {
 public:
  // state() may have changed since the last call. Called from the queue of the loop, so never from inside a
  // function of the subchannel. States that follow each other quickly may be reported as one.
  virtual void on_state(subchannel& s) noexcept = 0;
  // Another exchange may be opened.
  virtual void on_slots(subchannel& s) noexcept = 0;
  // After drain(): all connections are closed. Called from the queue of the loop; the owner may destroy the
  // subchannel here.
  virtual void on_drained(subchannel& s) noexcept = 0;

 protected:
  ~subchannel_owner() = default;
};

// Credentials that change while a channel is open. Any loop may use it.
class changing_credentials {
 public:
  changing_credentials() noexcept = default;
  changing_credentials(const changing_credentials&) = delete;
  changing_credentials& operator=(const changing_credentials&) = delete;
  virtual ~changing_credentials() = default;
  // For one connection. May read files.
  [[nodiscard]] virtual channel_credentials credentials() = 0;
};

// The security of a server's connections that a control plane has configured.
struct server_security {
  std::shared_ptr<changing_credentials> by;  // null: those of the channel
  std::string host;  // for SNI and, if the credentials want it, in the certificate

  friend bool operator==(const server_security&, const server_security&) = default;
};

// Receives the load that the server of a subchannel reports.
class load_listener {
 public:
  virtual void on_load(subchannel& s, const load_report& load) noexcept = 0;

 protected:
  ~load_listener() = default;
};

// How the attempts on a server ended, from one loop. Written by that loop, and read by any.
class attempt_outcomes {
 public:
  void add(bool ok) noexcept { increment(ok ? succeeded_ : failed_); }
  [[nodiscard]] std::uint64_t succeeded() const noexcept {
    return succeeded_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

 private:
  static void increment(std::atomic<std::uint64_t>& n) noexcept {
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t> succeeded_{0};
  std::atomic<std::uint64_t> failed_{0};
};

// Learns of each attempt on a subchannel, on its loop.
class attempt_observer {
 public:
  attempt_observer() noexcept = default;
  attempt_observer(const attempt_observer&) = delete;
  attempt_observer& operator=(const attempt_observer&) = delete;
  virtual ~attempt_observer() = default;
  // The attempt has a stream. One of the other two follows.
  virtual void began() noexcept = 0;
  virtual void ended(status_code code, const metadata& trailing) noexcept = 0;
  virtual void abandoned() noexcept = 0;
  // A place for an attempt that waits for a stream of the subchannel. May throw std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<held_place> place() { return nullptr; }
};

// The same for all subchannels of a channel.
struct connect_params {
  std::shared_ptr<dialer> by;
  channel_credentials credentials = insecure();
  bool in_process = false;  // as private as TLS
  call_credentials health_credentials;  // of the channel's calls, for health checks
  std::string authority;  // the host name that the server's certificate must match
  std::string name;  // of the target, for messages
  std::string uri;  // of the target, for metrics
  transport::connection_options connection;  // without http1
  std::optional<transport::http1_options> http1;  // none: HTTP/2
  wire_options wire{};
  // Where channelz finds the channel.
  std::shared_ptr<rpc::channel_registry> registry = std::make_shared<rpc::channel_registry>();
};

// Belongs to a shard, on its loop. The states are those of grpc/grpc doc/connectivity-semantics-and-api.md,
// derived as gRFC A105 specifies: READY with at least one connection whose SETTINGS have arrived (and whose
// server reports SERVING, if health is checked), or that is established if it speaks HTTP/1.1, else
// CONNECTING with an attempt in flight, else TRANSIENT_FAILURE during the pause after a failed attempt, else
// IDLE. It makes one attempt at a time, with pauses between them (backoff.hpp). A lost connection does not
// count as a failed attempt, unless it was lost shortly after it was established, and so was the one before
// it, and the server has not just drained it after a call. The subchannel never begins to connect by itself.
class subchannel final : private transport::connection_owner,
                         private health_watch_owner,
                         private load_watch_owner,
                         private attempt_end_sink,
                         private coro::timer,
                         private coro::runnable {
 public:
  subchannel(loop& owner_loop, const connect_params& params, endpoint where, subchannel_owner& owner,
             subchannel_user* user = nullptr);
  ~subchannel();

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const endpoint& where() const noexcept { return where_; }
  // The server with another weight, or with other addresses behind the first one. Connections to addresses
  // that it no longer has close when their calls have ended.
  void set_where(const endpoint& e);
  // A number of the user's, to find what it knows of this server.
  void set_index(std::size_t i) noexcept { index_ = i; }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  // Null when it has been dropped.
  [[nodiscard]] subchannel_user* user() const noexcept { return user_; }
  // For a balancer that keeps the subchannel when its user has dropped it.
  void set_user(subchannel_user& another) noexcept { user_ = &another; }
  // Of calls that wait for this server and no other. The shard serves it; the balancer that has set it hands
  // over what is left before it ends or drops the subchannel. Null: there is none.
  void set_own_queue(base::intrusive_list<call_attempt>* queue) noexcept { own_queue_ = queue; }
  [[nodiscard]] base::intrusive_list<call_attempt>* own_queue() const noexcept { return own_queue_; }
  [[nodiscard]] connectivity state() const noexcept;
  // How often it has become READY.
  [[nodiscard]] std::uint32_t times_ready() const noexcept { return times_ready_; }
  [[nodiscard]] time_point ready_since() const noexcept { return ready_since_; }
  // The result of the last attempt that failed: UNAVAILABLE, with the reason.
  [[nodiscard]] const status& failure() const noexcept { return ejected_.ok() ? failure_ : ejected_; }

  // Requires for READY that the server reports SERVING for `service` (gRFC A17). Call it before connect().
  void watch_health(const std::string& service) { health_service_ = service; }
  // Passes the load that the server reports to `l`, until drain() or close(): with calls, and out of band if
  // there is an interval. Replaces what was set before.
  void report_load_to(load_listener& l, bool with_calls, std::optional<duration> interval);
  // Connections from now on have this security, if the credentials of the channel yield to it (gRFC A29).
  void secure_by(server_security s) { security_ = std::move(s); }
  // Counts how attempts end in `to`; null: no longer.
  void count_outcomes(std::shared_ptr<attempt_outcomes> to) noexcept { outcomes_ = std::move(to); }
  // The name that :authority gets for calls whose route asks for it (gRFC A81); empty: none.
  void name_host(std::string name);
  // Connections from now on go through this HTTP CONNECT proxy (gRFC A86); nothing: they are direct.
  void connect_through(const std::optional<net::address>& proxy);
  // To be called before connect().
  void observe_attempts(std::shared_ptr<attempt_observer> by) noexcept { attempts_ = std::move(by); }
  // Where its server belongs, for metrics. To be called before connect().
  void set_labels(std::shared_ptr<const server_labels> l) noexcept { measures_.set_labels(std::move(l)); }
  // Ejected, it is in TRANSIENT_FAILURE for its user, with this reason, whatever its connections are (gRFC
  // A50); they stay. OK brings it back.
  void eject(const status& reason) noexcept;
  // For an attempt that gets the stream `x`. Returns `of_channel`, or its copy for this server if a policy
  // observes attempts.
  [[nodiscard]] const call_target& target_of_attempt(const call_target& of_channel, call_attempt* a = nullptr,
                                                     const transport::exchange* x = nullptr) noexcept {
    return load_of_calls_ || outcomes_ || attempts_ ? observed_target(of_channel, a, x) : of_channel;
  }
  // The attempt will wait for a stream.
  void hold_place_for(call_attempt& a) noexcept;
  // Begins an attempt if the state is IDLE, or would be if it was not ejected.
  void connect() noexcept;
  // Sets the maximum number of connections (gRFC A105). If there are more they stay open. Default 1.
  void set_connections_max(std::uint32_t n) noexcept { connections_max_ = n; }
  // A maximum of its own, in place of that one; 0: none.
  void set_own_connections_max(std::uint32_t n) noexcept { own_connections_max_ = n; }
  // A call waits for a stream: opens another connection, if the maximum allows it.
  void scale() noexcept;
  // Opens an exchange on the oldest connection that has room; the result is empty if none has.
  transport::exchange open(transport::exchange_handler& handler);
  [[nodiscard]] bool can_open() const noexcept;
  [[nodiscard]] std::size_t open_calls() const noexcept;
  [[nodiscard]] rpc::subchannel_snapshot stats(std::uint64_t detailed) const;
  // Of a connection that serves calls; null if there is none, or in plaintext.
  [[nodiscard]] std::shared_ptr<const auth_context> server_auth() const;
  // Of all connections, including closed ones.
  [[nodiscard]] connection_bytes bytes() const noexcept;

  // Accepts no new exchanges, and closes the connections when their last exchange has ended. on_drained()
  // follows. It has no user any more.
  void drain() noexcept {
    user_ = nullptr;
    own_queue_ = nullptr;
    end_connections(false, "no longer in use");
  }
  // Closes the connections at once, with their exchanges. May follow drain().
  void close(std::string_view reason) noexcept { end_connections(true, reason); }

 private:
  struct connection_entry {
    std::unique_ptr<transport::connection> connection;
    std::uint64_t id;
    bool ready = false;
    bool draining = false;
    bool secure = false;
    time_point ready_since{};
    std::shared_ptr<health_watch> health{};  // both are stopped before the connection is destroyed
    std::shared_ptr<load_watch> load{};
    [[nodiscard]] bool serves() const noexcept {
      return ready && !draining && (!health || health->serving_state() == health_watch::verdict::serving);
    }
  };
  // transport::connection_owner
  void on_ready(transport::connection& c) noexcept override;
  void on_slots(transport::connection& c) noexcept override;
  void on_going_away(transport::connection& c) noexcept override;
  void on_closed(transport::connection& c) noexcept override;

  // health_watch_owner
  void on_health(health_watch& w) noexcept override;

  // load_watch_owner
  void on_load(const load_report& load) noexcept override;
  void on_no_load() noexcept override;

  // attempt_end_sink
  void attempt_ended(status_code code, const metadata& trailing) noexcept override;
  void attempt_abandoned() noexcept override {
    if (attempts_) attempts_->abandoned();
  }

  [[nodiscard]] connectivity connection_state() const noexcept;
  [[gnu::noinline]] const call_target& observed_target(const call_target& of_channel, call_attempt* a,
                                                       const transport::exchange* x) noexcept;
  [[nodiscard]] bool add_own_target(std::unique_ptr<call_target>& to, const call_target& of_channel,
                                    bool secure, bool rewritten) noexcept;
  void report_load(const metadata& trailing) noexcept;
  void leave_withdrawn(connection_entry& l, const endpoint& before) noexcept;
  void end_connections(bool at_once, std::string_view reason) noexcept;
  void reduce_resets(http2::limits& l) const noexcept;
  void begin_attempt() noexcept;
  task<> attempt();
  [[nodiscard]] bool has_own_security() const noexcept;
  void begin_connection(std::unique_ptr<net::duplex> raw);
  void begin_health(connection_entry& l);
  void begin_load(connection_entry& l) noexcept;
  task<> check_health(std::shared_ptr<health_watch> w);
  task<> receive_load(std::shared_ptr<load_watch> w);
  void attempt_failed(std::string_view reason) noexcept;
  void connection_lost(duration up, std::string_view reason) noexcept;
  void fail_for(duration pause, std::string_view text) noexcept;
  void on_timer() noexcept;
  void schedule_state_report() noexcept;  // schedules on_state() of the owner
  void report_state() noexcept;
  void record_event(std::string_view text, rpc::traced_event::severity level) noexcept;
  void record_state() noexcept;
  static void stop_watches(connection_entry& l) noexcept;
  connection_entry* entry_of(const transport::connection& c) noexcept;
  [[nodiscard]] std::size_t ready_connections() const noexcept;

  loop& loop_;
  const connect_params& params_;
  endpoint where_;
  server_security security_;
  subchannel_owner& owner_;
  subchannel_user* user_;
  base::intrusive_list<call_attempt>* own_queue_ = nullptr;
  std::size_t index_ = 0;
  const std::uint64_t id_;
  std::uint64_t streams_before_ = 0;  // on connections that are closed
  std::uint64_t calls_ok_before_ = 0;
  time_point last_stream_before_{};
  connection_bytes bytes_before_;
  rpc::event_trace trace_;
  subchannel_measures measures_;
  connectivity recorded_state_ = connectivity::idle;
  std::uint32_t times_ready_ = 0;
  time_point ready_since_{};  // when it became that last
  backoff backoff_;
  status failure_;
  duration keepalive_time_;  // doubled by each too_many_pings (gRFC A8)
  unsigned reset_shift_ = 0;  // how often the limits on resets were halved, because a server closed for them
  [[nodiscard]] std::uint32_t connections_max() const noexcept {
    return own_connections_max_ != 0 ? own_connections_max_ : connections_max_;
  }
  std::uint32_t connections_max_ = 1;
  std::uint32_t own_connections_max_ = 0;
  std::vector<connection_entry> connections_;  // by age, including those that are going away
  scope work_;  // the attempt to connect, and the health checks
  time_point attempt_began_{};
  bool attempting_ = false;  // until SETTINGS have arrived
  bool pausing_ = false;
  bool closing_ = false;
  bool report_scheduled_ = false;
  std::optional<std::string> health_service_;
  load_listener* loads_ = nullptr;
  std::optional<duration> load_interval_;
  bool load_of_calls_ = false;
  std::shared_ptr<attempt_outcomes> outcomes_;
  std::shared_ptr<attempt_observer> attempts_;
  status ejected_;  // OK: it is not
  std::string host_name_;
  std::unique_ptr<const net::address> proxy_;  // null: none
  std::unique_ptr<const endpoint> dialed_;  // where the attempt leads to, if where_ has changed meanwhile
  // Of calls over TLS, or with host_name_ as their authority, or with both; and those with neither.
  std::array<std::unique_ptr<call_target>, 4> own_targets_;
};

}  // namespace coracle::client
