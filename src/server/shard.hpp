// shard: a server on one loop, with its connections and calls there.
#pragma once

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/log.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/event.hpp"
#include "net/acceptor.hpp"
#include "runtime/loop_service.hpp"
#include "server/admission/admission_gate.hpp"
#include "server/admission/rate_limits.hpp"
#include "server/admission/rejection.hpp"
#include "server/call/call_request.hpp"
#include "server/call/call_set.hpp"
#include "server/call/received_metadata.hpp"
#include "server/call/server_load.hpp"
#include "server/handover/succession.hpp"
#include "server/server_state.hpp"
#include "transport/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::server_internal {

struct plain_request;  // server/web/web_call.hpp
struct repeated_request;

// Is told once that all listeners of a shard are closed. Takes no memory while it waits.
class close_watch : public base::list_hook {
 public:
  virtual void listeners_closed() noexcept = 0;

 protected:
  ~close_watch() = default;
};

// A listening socket. Owned by the shard of loop 0, which destroys it when `closed` reports that the socket
// is closed.
class server_listener final : private net::acceptor_sink {
 public:
  server_listener(opened_socket from, server_state& of,
                  std::function<void(runtime_internal::handle)> accepted,
                  std::function<void(server_listener&)> closed)
      : id_(rpc::channel_registry::next_id()),
        acceptor_(std::move(from.acceptor)),
        name_(std::move(from.name)),
        claim_(std::move(from.claim)),
        stored_as_(std::move(from.stored_as)),
        shared_(stored_as_ ? net::sharing::exclusive : acceptor_->shared()),
        server_(of),
        accepted_(std::move(accepted)),
        closed_(std::move(closed)) {
    acceptor_->start(*this);
  }
  void close() noexcept { acceptor_->close(); }
  // Stops accepting until resume(); connections wait. Returns whether `then` will be called, when those that
  // were accepted before have been passed on.
  bool pause(std::function<void()> then) {
    paused_ = std::move(then);
    return acceptor_->pause();
  }
  void resume() noexcept { acceptor_->resume(); }
  void look_again() noexcept { acceptor_->look_again(); }
  // With other processes of the service.
  void set_sharing(net::sharing with_others) noexcept {
    shared_ = with_others;
    acceptor_->set_sharing(stored_as_ ? net::sharing::shared : shared_);
  }
  // The service manager keeps the socket under this name, too, for the next process; null: it does not.
  void set_stored(std::shared_ptr<const std::string> as) noexcept {
    stored_as_ = std::move(as);
    set_sharing(shared_);
  }
  [[nodiscard]] const std::shared_ptr<const std::string>& stored_as() const noexcept { return stored_as_; }
  [[nodiscard]] int descriptor() const noexcept { return acceptor_->descriptor(); }
  [[nodiscard]] const handover_protocol::socket_name& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] const net::address& local_address() const noexcept { return acceptor_->local_address(); }
  [[nodiscard]] runtime_internal::socket_options options() const noexcept { return acceptor_->options(); }

 private:
  void accepted(runtime_internal::handle connection) noexcept override { accepted_(connection); }
  void accept_failed(status reason) noexcept override {
    base::if_memory_allows([&] {
      const std::string text = "listening ended: " + reason.to_string();
      server_.owner.log().write(log_room::server, log_level::error, text);
      server_.record_event(text, rpc::traced_event::severity::error);
    });
  }
  void paused() noexcept override {
    if (const auto then = std::exchange(paused_, {})) then();
  }
  void closed() noexcept override {
    paused();
    closed_(*this);
  }

  const std::uint64_t id_;
  std::unique_ptr<net::acceptor> acceptor_;
  const handover_protocol::socket_name name_;
  const std::shared_ptr<const void> claim_;
  std::shared_ptr<const std::string> stored_as_;
  net::sharing shared_;
  std::function<void()> paused_;
  server_state& server_;
  std::function<void(runtime_internal::handle)> accepted_;
  std::function<void(server_listener&)> closed_;
};

// A server on one loop. Every function runs on that loop.
class shard final : public runtime_internal::loop_service,
                    private transport::connection_owner,
                    private transport::request_acceptor,
                    private metrics_source,
                    private call_set {
 public:
  shard(std::shared_ptr<server_state> server, loop& owner_loop);
  ~shard() override;

  [[nodiscard]] loop& owner_loop() const noexcept { return loop_; }
  // Serves a new connection; closes it when draining. Throws std::bad_alloc, and the connection is closed
  // then.
  void adopt(std::unique_ptr<net::duplex> stream);
  // Uses them for new connections and calls, if it has used others before.
  void reload(const std::shared_ptr<const live_options>& now) noexcept;
  // Logs that a connection was closed on arrival because of a lack of memory.
  void note_refused_connection() noexcept;
  // `security` is null for plaintext.
  void listen(opened_socket socket, std::shared_ptr<security::server_security> security);
  [[nodiscard]] const std::vector<std::unique_ptr<server_listener>>& listeners() const noexcept {
    return listeners_;
  }
  // Closes the listening sockets, and calls `then` when the connections that had arrived at them have been
  // passed on.
  void close_listeners(close_watch& w) noexcept;
  // A successor has taken over: the connections that exist now, apart from those of this process, get GOAWAY.
  void begin_goaways() noexcept;
  // Sends it to the next of them, until `part` of `parts` have it.
  void send_goaways(std::size_t part, std::size_t parts) noexcept;
  // Sends GOAWAY on every connection and waits for their calls; cancels the calls after `grace`. Ends when no
  // connection is left.
  [[nodiscard]] task<> drain(duration grace);
  // Calls `f` when the drain, or the end, begins; at once if it has.
  void when_draining(std::function<void()> f);
  // Ends the connections whose mark fits (see net::duplex::mark()): gracefully, or at once.
  void end_connections(const std::function<bool(const void* mark)>& which, bool at_once) noexcept;
  // This shard's part of the server's snapshot; calls_started counts gRPC calls that reached a handler's
  // method.
  [[nodiscard]] server_snapshot snapshot(std::uint64_t detailed) const;
  // Another loop has found the quota under pressure.
  void watch_pressure() noexcept;
  // Closes the connections that hold most until the quota is met. If that does not suffice and
  // `notify_others` is set, notifies the other loops.
  void free_memory(bool notify_others) noexcept;
  // Cancels the remaining calls; the drain's grace has passed.
  void cancel_all() noexcept;

 private:
  void use_observers();
  void use(std::shared_ptr<const live_options> now);
  // metrics_source
  void report(metrics_sink& to) const noexcept override;
  struct served {
    std::unique_ptr<transport::connection> connection;
    std::uint64_t id;  // of channelz
    std::size_t bytes = 0;  // as accounted in the quota
    std::size_t held_bytes = 0;  // the minimum since the last check of the pressure began
    bool under_pressure = false;
    bool closing = false;
  };

  // runtime_internal::loop_service
  void begun() noexcept override { loop_.add_metrics(*this); }
  void begin_shutdown() noexcept override;
  // transport::connection_owner
  void on_closed(transport::connection& c) noexcept override;
  void on_memory(transport::connection& c, std::size_t bytes) noexcept override;
  [[nodiscard]] bool may_keep(transport::connection& c, std::size_t more_bytes) noexcept override;
  [[nodiscard]] const transport::http1_options* http1() const noexcept override;
  [[nodiscard]] std::span<const http::header_view> general_fields(transport::connection& c) noexcept override;
  void on_other_protocol(transport::connection& c, std::string_view reason) noexcept override;
  // call_set
  // After each call, if the loop has one call at a time.
  void on_empty() noexcept override {
    if (draining_) finish_if_empty();
  }
  void on_orphaned_bytes(std::size_t before) noexcept override;
  // transport::request_acceptor
  void on_request(transport::exchange x, transport::header_source& fields, bool end_stream) override;

  // A request that is not gRPC over HTTP/2.
  void on_other_request(transport::exchange x, request_info& r, received_metadata received, bool end_stream);
  // A request whose headers are known except for these.
  void begin_repeated_call(transport::exchange x, repeated_request& known,
                           std::span<const transport::varying_field> varying, bool end_stream);
  // Starts the call of a valid request for a method.
  void begin_call(transport::exchange x, const call_request& request, std::unique_ptr<fallback_call> fallback,
                  received_metadata received, bool end_stream);

  // Starts the call of a request for a plain route.
  void begin_http_call(transport::exchange x, request_info& r, const plain_request& plain,
                       received_metadata received, std::unique_ptr<cross_origin> permission, bool end_stream);

  // --- the memory quota
  [[nodiscard]] std::size_t fair_share() const noexcept;
  [[nodiscard]] bool under_pressure() const noexcept;
  void set_pressure(transport::connection& c, served& s, bool on) noexcept;
  void begin_pressure() noexcept;
  void check_pressure() noexcept;
  void shed_stalled() noexcept;
  // Closes the connections that hold most, among those for which `may_go` is true, until at most
  // `until_bytes` are used. Returns false if none is left before. `reason` is a string literal.
  template <class Predicate>
  bool shed_largest(std::size_t until_bytes, const char* reason, Predicate may_go) noexcept;
  // Admits a call. False if the server has reached its maximum of calls.
  [[nodiscard]] bool admit() noexcept;
  void unadmit() noexcept;
  void reject(transport::exchange x, const call_request& request, const status& reason);
  // Whether rate limits and overload protection permit a call, which is rejected if not. tried: see
  // admission_control.
  [[nodiscard]] bool permits(transport::exchange x, const call_request& request, std::uint32_t method,
                             const metadata& received, time_point deadline, bool& tried);
  void log_rejection(std::string_view reason);
  void begin_drain() noexcept;
  void notify_listeners_closed() noexcept;
  task<> wait_until_empty();
  // In the order in which the connections were accepted, or in any order without memory: the order of
  // addresses would differ from run to run.
  template <class F>
  void for_each_connection(F f) noexcept;
  void finish_if_empty() noexcept;

  std::shared_ptr<server_state> server_;
  loop& loop_;
  // Checks the pressure while there is any, because other loops may have relieved it.
  struct pressure_timer : coro::timer {
    explicit pressure_timer(shard& s) noexcept;
    shard& of;
  };
  std::unordered_map<transport::connection*, served> connections_;
  std::uint64_t calls_started_ = 0;
  time_point last_call_started_{};  // on closed connections
  std::vector<std::unique_ptr<server_listener>> listeners_;
  base::intrusive_list<close_watch> close_watches_;
  bool closes_listeners_ = false;
  std::vector<std::pair<std::uint64_t, transport::connection*>> get_goaway_;  // by id
  std::size_t got_goaway_ = 0;  // how many of these
  std::unique_ptr<server_observer> observers_;  // several as one; null if there is none, or one
  const std::shared_ptr<memory_quota::usage> quota_;
  std::shared_ptr<const live_options> live_;  // null until the first connection
  std::size_t calls_max_ = server_limits{}.calls;
  duration call_time_ = duration::max();
  pressure_timer pressure_timer_;
  time_point pressure_since_ = never;  // start of the current stall_time; never: no pressure
  // Set when server_options::admission is for the first time. Calls stay in it if that is not set any more.
  std::optional<admission_gate> admission_;
  rate_limits* rates_ = nullptr;  // null: server_options::rate_limits is empty
  rejection_log rate_log_;
  bool limits_calls_ = false;  // by one of these
  std::optional<server_load> load_;  // none: server_options::load is not set
  std::string date_;
  time_point date_ends_{};  // when the date must be made again
  http::header_view general_fields_[2];
  event<> empty_;  // set when draining and no connection or entrance is left
  // On closed connections.
  std::uint64_t bytes_sent_before_ = 0;
  std::uint64_t bytes_received_before_ = 0;
  std::vector<std::function<void()>> at_drain_;
  bool draining_ = false;
  bool shutting_down_ = false;
  bool shutdown_reported_ = false;
};

}  // namespace coracle::server_internal
