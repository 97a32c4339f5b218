// subchannel: the connections of one loop to one server, and their state.
#pragma once

#include "client/balancing/health_watch.hpp"
#include "client/balancing/load_watch.hpp"
#include "client/balancing/subchannel_instruments.hpp"
#include "client/call/call_queue.hpp"
#include "client/connecting/address_pass.hpp"
#include "client/connecting/backoff.hpp"
#include "client/connecting/dialer.hpp"
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
  call_queue waiting;
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

// How a control plane has calls and connections reach a server.
struct server_access {
  std::string hostname;  // what :authority gets for calls whose route asks for it (gRFC A81); empty: nothing
  std::optional<net::address> proxy;  // of HTTP CONNECT (gRFC A86)

  friend bool operator==(const server_access&, const server_access&) = default;
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
  explicit attempt_outcomes(net::address of) noexcept : server(std::move(of)) {}
  void add(bool ok) noexcept { increment(ok ? succeeded_ : failed_); }
  [[nodiscard]] std::uint64_t succeeded() const noexcept {
    return succeeded_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  const net::address server;  // what it is known by

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
  // The subchannel has been dropped: its attempts go on to their ends, and no other one begins.
  virtual void dropped() noexcept {}
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
// IDLE. It makes one attempt at a time, with pauses between them (backoff.hpp); an attempt tries all
// addresses of the server. A lost connection does not count as a failed attempt, unless it was lost shortly
// after it was established, and so was the one before it, and the server has not just drained it after a
// call. The subchannel never begins to connect by itself.
//
// A channel may have thousands of servers and use few of them. An attempt to connect makes what only a
// subchannel with connections needs: its activity, until it is IDLE again, and its history, which stays.
class subchannel final : private transport::connection_owner,
                         private attempt_end_sink,
                         private coro::runnable {
 public:
  subchannel(loop& owner_loop, const connect_params& params, endpoint where, subchannel_owner& owner,
             subchannel_user* user = nullptr);
  ~subchannel();

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const endpoint& where() const noexcept { return where_; }
  // The server with another weight, or with other addresses. Connections to addresses that it no longer has
  // close when their calls have ended, and an attempt to connect goes on with those that it has.
  void set_where(const endpoint& e);
  // A number of the user's, to find what it knows of this server.
  void set_index(std::size_t i) noexcept { index_ = i; }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  // The same for its owner.
  void set_place(std::size_t i) noexcept { place_ = static_cast<std::uint32_t>(i); }
  [[nodiscard]] std::size_t place() const noexcept { return place_; }
  // Null when it has been dropped.
  [[nodiscard]] subchannel_user* user() const noexcept { return user_; }
  // For a balancer that keeps the subchannel when its user has dropped it. Reports of load, which the user
  // may have wanted, end.
  void set_user(subchannel_user& another) noexcept;
  // Of calls that wait for this server and no other. The shard serves it; the balancer that has set it hands
  // over what is left before it ends or drops the subchannel. Null: there is none.
  void set_own_queue(call_queue* queue) noexcept { own_queue_ = queue; }
  [[nodiscard]] call_queue* own_queue() const noexcept { return own_queue_; }
  [[nodiscard]] connectivity state() const noexcept;
  // How often it has become READY.
  [[nodiscard]] std::uint32_t times_ready() const noexcept { return history_ ? history_->times_ready : 0; }
  [[nodiscard]] time_point ready_since() const noexcept {
    return history_ ? history_->ready_since : time_point{};
  }
  // The result of the last attempt that failed: UNAVAILABLE, with the reason.
  [[nodiscard]] const status& failure() const noexcept;

  // Requires for READY that the server reports SERVING for `service` (gRFC A17), which must stay alive until
  // drain() or close(). Call it before connect().
  void watch_health(const std::string& service) noexcept { health_service_ = &service; }
  // Passes the load that the server reports to `l`, until drain() or close(): with calls, and out of band if
  // there is an interval. Replaces what was set before.
  void report_load_to(load_listener& l, bool with_calls, std::optional<duration> interval);
  // Connections from now on have this security, if the credentials of the channel yield to it (gRFC A29).
  void secure_by(std::shared_ptr<const server_security> s) noexcept { security_ = std::move(s); }
  // Counts how attempts end in `to`; null: no longer.
  void count_outcomes(std::shared_ptr<attempt_outcomes> to) noexcept { outcomes_ = std::move(to); }
  // For calls and connections from now on; null: the address and the channel's authority.
  void reach_by(std::shared_ptr<const server_access> a) noexcept;
  // To be called before connect().
  void observe_attempts(std::shared_ptr<attempt_observer> by) noexcept { attempts_ = std::move(by); }
  // Where its server belongs, for metrics. To be called before connect().
  void set_labels(std::shared_ptr<const server_labels> l) noexcept { labels_ = std::move(l); }
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
  // Begins an attempt if the state is IDLE, or would be if it was not ejected. Throws std::bad_alloc if there
  // is no memory for its activity or its history; nothing has changed then.
  void connect();
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
    if (attempts_) attempts_->dropped();
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
  // While it connects, pauses after a failed attempt, or has connections.
  struct activity final : coro::timer, health_watch_owner, load_watch_owner {
    explicit activity(subchannel& s) noexcept : of(s) {
      fire = [](coro::timer& t) noexcept { static_cast<activity&>(t).of.on_timer(); };
    }
    void on_health(health_watch& w) noexcept override;
    void on_load(const load_report& load) noexcept override;
    void on_no_load() noexcept override;

    subchannel& of;
    scope work;  // the attempt to connect, and the watches of connections
    time_point attempt_began{};
    std::shared_ptr<address_pass> pass{};  // of the attempt
  };
  // From the first attempt on.
  struct history {
    history(wall_time made, duration keepalive) noexcept : trace(made), keepalive_time(keepalive) {}
    rpc::event_trace trace;
    status failure;
    backoff pauses;
    duration keepalive_time;  // doubled by each too_many_pings (gRFC A8)
    std::uint32_t reset_shift = 0;  // how often the limits on resets were halved: a server closed for them
    std::uint32_t times_ready = 0;
    time_point ready_since{};  // when it became that last
    // Of connections that are closed.
    std::uint64_t streams = 0;
    std::uint64_t calls_ok = 0;
    time_point last_stream{};
    connection_bytes bytes;
  };
  // transport::connection_owner
  void on_ready(transport::connection& c) noexcept override;
  void on_slots(transport::connection& c) noexcept override;
  void on_going_away(transport::connection& c) noexcept override;
  void on_closed(transport::connection& c) noexcept override;

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
  // Whether the server has had this address before, and no longer has it. What a proxy or the program's
  // connector has connected to may be in neither list.
  [[nodiscard]] bool has_withdrawn(const net::address& at, const endpoint& before) const {
    return has_address(before, at) && !has_address(where_, at);
  }
  [[nodiscard]] bool redirect(address_pass& pass) const noexcept;
  void leave_withdrawn(connection_entry& l) noexcept;
  void end_connections(bool at_once, std::string_view reason) noexcept;
  void reduce_resets(http2::limits& l) const noexcept;
  void begin_attempt();
  task<> attempt(std::shared_ptr<address_pass> of);
  // Connects to one of these addresses, unless the pass stops it.
  task<result<std::unique_ptr<net::duplex>>> dial(address_pass& of, const endpoint& to);
  // Returns false if no address is left to try.
  bool try_next_address() noexcept;
  void arm_attempt_timer(bool next_address);
  void end_pass(std::string_view reason) noexcept;
  void close_unready(std::string_view reason) noexcept;
  [[nodiscard]] bool awaits_settings() const noexcept;
  [[nodiscard]] bool has_own_security() const noexcept;
  void begin_connection(std::unique_ptr<net::duplex> raw, const endpoint& dialed);
  void begin_health(connection_entry& l);
  void begin_load(connection_entry& l) noexcept;
  task<> check_health(std::shared_ptr<health_watch> w);
  task<> receive_load(std::shared_ptr<load_watch> w);
  void attempt_failed(std::string_view reason) noexcept;
  void connection_lost(duration up, std::string_view reason) noexcept;
  void fail_for(duration pause, std::string_view text) noexcept;
  void on_timer() noexcept;
  void disarm() noexcept;
  void schedule_state_report() noexcept;  // schedules on_state() of the owner
  void schedule_check() noexcept;
  void check() noexcept;
  void record_event(std::string_view text, rpc::traced_event::severity level) noexcept;
  void record_state() noexcept;
  static void stop_watches(connection_entry& l) noexcept;
  connection_entry* entry_of(const transport::connection& c) noexcept;
  [[nodiscard]] std::size_t ready_connections() const noexcept;

  history& kept();  // made if there is none
  [[nodiscard]] std::uint32_t connections_max() const noexcept {
    return own_connections_max_ != 0 ? own_connections_max_ : connections_max_;
  }
  [[nodiscard]] subchannel_measures measures() const noexcept { return {params_.uri, labels_.get()}; }

  loop& loop_;
  const connect_params& params_;
  endpoint where_;
  subchannel_owner& owner_;
  subchannel_user* user_;
  call_queue* own_queue_ = nullptr;
  std::size_t index_ = 0;
  const std::uint64_t id_;
  const wall_time made_;
  std::vector<connection_entry> connections_;  // by age, including those that are going away
  std::unique_ptr<activity> activity_;
  std::unique_ptr<history> history_;
  std::uint32_t connections_max_ = 1;
  std::uint32_t own_connections_max_ = 0;
  std::uint32_t place_ = 0;
  connectivity recorded_state_ = connectivity::idle;
  bool attempting_ = false;  // until SETTINGS have arrived
  bool pausing_ = false;
  bool closing_ = false;
  bool check_scheduled_ = false;
  bool report_due_ = false;  // check() reports the state
  bool load_of_calls_ = false;
  load_listener* loads_ = nullptr;
  std::optional<duration> load_interval_;
  const std::string* health_service_ = nullptr;  // null: health is not checked
  std::shared_ptr<const server_security> security_;  // null: that of the channel
  std::shared_ptr<const server_access> access_;
  std::shared_ptr<const server_labels> labels_;
  std::shared_ptr<attempt_outcomes> outcomes_;
  std::shared_ptr<attempt_observer> attempts_;
  status ejected_;  // OK: it is not
  // Of calls over TLS, or with the server's hostname as their authority, or with both; and those with
  // neither.
  std::array<std::unique_ptr<call_target>, 4> own_targets_;
};

}  // namespace coracle::client
