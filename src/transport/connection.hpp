// connection: an HTTP/2 engine on a byte stream, or HTTP/1.1 in its place, on one loop.
#pragma once

#include "base/hot_and_cold.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/security/connection_peer.hpp"
#include "http2/connection.hpp"
#include "net/duplex.hpp"
#include "transport/connection_options.hpp"
#include "transport/decode_budget.hpp"
#include "transport/exchange_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::transport {

// What a connection counts itself. Times have the resolution of a loop iteration; they are zero if no such
// event has happened yet.
struct connection_counters {
  std::uint64_t streams_started = 0;
  std::uint64_t streams_succeeded = 0;  // the end was sent (server) or received (client)
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;  // of HTTP/2, without TLS
  std::uint64_t bytes_received = 0;
  time_point last_stream_started{};
  time_point last_message_sent{};
  time_point last_message_received{};
};

struct connection_stats : connection_counters {
  std::uint64_t streams_open = 0;
  std::uint64_t keepalives_sent = 0;
  std::int64_t send_window_bytes = 0;
  std::int64_t receive_window_bytes = 0;
};

// What the peer has said about the connection as a whole.
struct peer_statements {
  std::optional<http2::error_code> goaway{};  // the code of its GOAWAY
  std::optional<std::uint32_t> max_concurrent_streams{};  // none: it has set no limit
};

using http2::limits;
using http2::role;

class connection;
class http1_session;

// Message counts of a connection, for snapshots. Only its loop accesses them; the layer above updates them.
struct message_counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t calls_ok = 0;  // of a client
};

// The cache of the layer above for headers that were sent or received on a connection and are likely to
// recur.
struct header_cache {
  header_cache() = default;
  header_cache(const header_cache&) = delete;
  header_cache& operator=(const header_cache&) = delete;
  virtual ~header_cache() = default;

  std::size_t memory_bytes = 0;  // that it holds on the heap, for quotas
};

// Why a connection has ended: what was seen first.
enum class end_cause : std::uint8_t {
  unknown,     // also: the peer has closed its side without a word
  goaway,      // the peer sent GOAWAY; the value is its code
  io_error,    // the byte stream failed; the value is an errno
  unanswered,  // the peer did not answer a keepalive PING
  closed,      // this side closed or drained the connection
};

// The owner of a connection. Called on the connection's loop.
class connection_owner {
 public:
  // The peer's first SETTINGS have arrived, or a client's byte stream for HTTP/1.1 is established.
  virtual void on_ready(connection&) noexcept {}
  // Client: another exchange may be opened.
  virtual void on_slots(connection&) noexcept {}
  // No new exchanges can be opened: the peer sent GOAWAY, or the connection failed. Called once.
  virtual void on_going_away(connection&) noexcept {}
  // Server: the connection now holds `bytes`. Called if the value differs from the last one by several KiB:
  // once per loop iteration, and at once when a large message is queued or kept. close_at_turn_end() and
  // set_memory_pressure() may be called inside.
  virtual void on_memory(connection&, std::size_t /*bytes*/) noexcept {}
  // Returns whether the connection may hold `more_bytes` more.
  [[nodiscard]] virtual bool may_keep(connection&, std::size_t /*more_bytes*/) noexcept { return true; }
  // Server: the options for a peer that speaks HTTP/1.1; null: such peers are rejected.
  [[nodiscard]] virtual const http1_options* http1() const noexcept { return nullptr; }
  // Server: the fields of every response on this connection except those of gRPC, such as Date. Valid until
  // the next loop iteration.
  [[nodiscard]] virtual std::span<const http::header_view> general_fields(connection&) noexcept { return {}; }
  // Server: the peer does not speak HTTP; `reason` names what it speaks, if that is known.
  virtual void on_other_protocol(connection&, std::string_view /*reason*/) noexcept {}
  // The connection has ended, and every exchange was notified. The owner may destroy the connection in this
  // call.
  virtual void on_closed(connection&) noexcept = 0;

 protected:
  ~connection_owner() = default;
};

// Reads and parses input, calls the handlers and collects what they send; all output of a loop iteration is
// sent at the end of the iteration. Used on one loop. Its owner destroys it in on_closed(). Operations on one
// stream are those of its exchange.
class connection final : private net::duplex_sink, private coro::runnable, private coro::timer {
 public:
  // acceptor: null for a client.
  connection(loop& owner_loop, std::unique_ptr<net::duplex> stream, http2::role r,
             const connection_options& o, connection_owner& owner, request_acceptor* acceptor);
  ~connection();
  void start();

  // Client: returns an empty exchange if no stream can be opened now (limit, GOAWAY, failed connection).
  exchange open(exchange_handler& handler) noexcept;
  [[nodiscard]] bool can_open() const noexcept;
  [[nodiscard]] std::size_t open_streams() const noexcept;
  [[nodiscard]] bool is_http1() const noexcept { return http1_ != nullptr; }

  // Server: sends GOAWAY in two steps. Client: opens no new streams. Closes the connection when the last
  // exchange has ended.
  void drain() noexcept;
  // Ends every exchange (on_reset, disconnected), sends GOAWAY and all pending output, then closes. A peer
  // that does not read, or does not end its side, has the time `linger` (connection.cpp) to do so.
  void close(http2::error_code code, std::string_view reason) noexcept;
  // Calls close(ENHANCE_YOUR_CALM) at the end of the loop iteration; data queued until then is dropped.
  // `reason` must be a literal, because only the pointer is stored.
  void close_at_turn_end(const char* reason) noexcept;
  // While on, the connection accepts no new streams and returns no connection credit.
  void set_memory_pressure(bool on) noexcept;
  [[nodiscard]] const std::string& end_reason() const noexcept { return end_reason_; }
  [[nodiscard]] transport::end_cause end_cause() const noexcept { return end_cause_; }
  // See the enumerators that have one.
  [[nodiscard]] std::uint32_t end_value() const noexcept { return end_value_; }
  // Whether the peer's GOAWAY requires fewer PINGs: the next connection must double its keepalive time (gRFC
  // A8). Valid in on_going_away().
  [[nodiscard]] bool sent_too_many_pings() const noexcept { return sent_too_many_pings_; }
  // Client: whether the peer closes the connection with ENHANCE_YOUR_CALM, probably because this side has
  // reset too many streams. Valid in on_going_away().
  [[nodiscard]] bool asked_for_fewer_resets() const noexcept { return asked_for_fewer_resets_; }

  // Whether this side has closed the connection because it has ended an exchange of HTTP/1.1 early.
  [[nodiscard]] bool abandoned() const noexcept { return abandoned_; }

  [[nodiscard]] connection_stats stats() noexcept;
  [[nodiscard]] peer_statements peer_says() const noexcept;
  // For channelz: asks the kernel, and allocates.
  [[nodiscard]] net::connection_details details() const;
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return counters_.bytes_sent; }
  [[nodiscard]] std::uint64_t bytes_received() const noexcept { return counters_.bytes_received; }
  [[nodiscard]] const net::address& local_address() const noexcept { return stream_->local_address(); }
  // For clients: what their calls keep of the peer. Made by the first call, which throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const connection_peer> peer() {
    if (!kept_by_calls_) [[unlikely]]
      make_peer();
    return std::static_pointer_cast<const connection_peer>(kept_by_calls_);
  }
  // For servers: the number of orphaned calls; see exchange::orphaned_calls(). Null until shared.
  [[nodiscard]] const std::size_t* orphaned_calls() const noexcept {
    return static_cast<const std::size_t*>(kept_by_calls_.get());
  }
  [[nodiscard]] std::shared_ptr<std::size_t> share_orphaned_calls();
  [[nodiscard]] const net::address& peer_address() const noexcept { return stream_->peer_address(); }
  [[nodiscard]] net::handshake_end handshake() const noexcept { return stream_->handshake(); }
  // Null for plaintext. Valid as long as the connection.
  [[nodiscard]] const auth_context* auth() const noexcept { return stream_->auth(); }
  // Client: see exchange::covers(). Remembers the last authority that the peer covers.
  [[nodiscard]] bool covers(std::string_view authority) noexcept;
  [[nodiscard]] const std::shared_ptr<const void>& mark() const noexcept { return stream_->mark(); }

  [[nodiscard]] const message_counts& messages() const noexcept { return messages_; }

 private:
  friend class exchange;
  friend class http2_stream;
  friend class http1_session;
  // Input that exceeds the decode budget. It exists while something is waiting.
  struct deferred_input final : deferred_decode {
    explicit deferred_input(connection& c) noexcept : owner(c) {}
    bool continue_decoding() noexcept override { return owner.continue_decoding(); }
    connection& owner;
    base::intrusive_list<deferred_decode> calls;  // with a waiting message, in order
    base::output_buffer unread;  // received after these messages
    bool engine_reads = false;  // the engine reads from `unread`
    std::int64_t send_error = 0;  // not 0: a send failed; the connection fails when all input has been read
  };
  // Bulk data stays in the streams' queues while this much is in the output. It bounds the head-of-line
  // blocking of small responses to 64 KiB.
  static constexpr std::size_t bulk_high_bytes = 64u << 10;
  // No more input is read while there is more output than this: a peer that sends requests and does not read
  // the responses must not make memory grow.
  static constexpr std::size_t output_full_bytes = 1u << 20;

  void handshake_ended() noexcept override;
  void received(bytes_view bytes) noexcept override;
  void receive_ended(std::int64_t result) noexcept override;
  void sent(std::int64_t result) noexcept override;
  void hung_up() noexcept override;
  void memory_changed() noexcept override;
  void closed() noexcept override;

  void make_peer();

  // --- for exchange
  void defer(deferred_decode& d);
  void take_content(stream_ref s, bytes_view content) noexcept {
    counters_.streams_succeeded += acceptor_ == nullptr;
    budget_->charge(decode_budget::message_cost_bytes);
    engine_.take_content(s, content);
  }
  void take_rest(stream_ref s, const response_rest& rest) noexcept {
    ++counters_.streams_succeeded;
    budget_->charge(2 * decode_budget::message_cost_bytes);
    engine_.take_rest(s, rest);
  }
  void set_kept(stream_ref s, std::size_t bytes) noexcept;
  void note_kept(std::size_t bytes) noexcept;
  void wait_until_uncongested(stream_ref s) noexcept;
  void reset(stream_ref s, error_code code) noexcept;
  void release(stream_ref s) noexcept;
  void on_released(stream_ref s) noexcept;
  CORACLE_HOT void dispatch() noexcept;
  // Called when the decode budget is spent, or a call of this connection waits for it: keeps the unread input
  // for later.
  CORACLE_COLD void defer_input() noexcept;
  // Whether input or calls wait for the decode budget.
  [[nodiscard]] bool is_deferred() const noexcept {
    return deferred_ && (!deferred_->calls.empty() || !deferred_->unread.empty());
  }
  bool continue_decoding() noexcept;
  void update_receiving() noexcept;
  void handle(const http2::event& e) noexcept;
  // The peer of a server speaks HTTP/1.1, or does not speak HTTP at all.
  CORACLE_COLD void switch_to_http1(bytes_view rest) noexcept;
  void on_http1_released() noexcept;
  // Runs f with what speaks the protocol of this connection: both answer the same questions.
  template <class F>
  decltype(auto) engine(F f) {
    if (http1_) [[unlikely]]
      return f(*http1_);
    return f(engine_);
  }
  template <class F>
  decltype(auto) engine(F f) const {
    if (http1_) [[unlikely]]
      return f(std::as_const(*http1_));
    return f(engine_);
  }
  // Whether the peer may not send more until its exchange has consumed what it sent: HTTP/1.1, which has no
  // windows.
  [[nodiscard]] bool holds_input() const noexcept;
  // Ends the connection at once, or as soon as GOAWAY is sent.
  CORACLE_COLD void fail(error_code code, std::string_view reason) noexcept;
  [[nodiscard]] base::output_buffer& output() noexcept;
  [[nodiscard]] bool output_is_full() noexcept { return output().size() > output_full_bytes; }
  // Charges an event. True if the rest of the input must be deferred.
  [[nodiscard]] bool must_defer() noexcept {
    return (budget_->charge_event() && budget_->spent_at_checkpoint()) ||
           (deferred_ && !deferred_->calls.empty());
  }
  // Runs f, which calls the handler of a stream or the acceptor. If memory is exhausted there, the exchange
  // ends.
  template <class F>
  void call_handler(stream_ref s, F f) noexcept;
  CORACLE_COLD void out_of_memory(stream_ref s) noexcept;
  CORACLE_COLD void set_end_cause(transport::end_cause c, std::int64_t value = 0) noexcept;
  CORACLE_COLD void set_end_reason(std::string_view first, std::string_view then = {},
                                   std::string_view last = {}) noexcept;
  void schedule_flush() noexcept;  // schedules flush() for the end of the loop iteration
  void flush() noexcept;
  [[gnu::noinline]] void update_timer() noexcept;
  void enforce_max_age() noexcept;
  void report_memory() noexcept;
  void update_congestion() noexcept;
  void resume_waiting_calls() noexcept;
  void check_stall() noexcept;
  void on_stream_begin() noexcept;
  void record_received() noexcept;
  void record_sent() noexcept;
  void release_if_idle() noexcept;
  [[gnu::noinline]] void finish_if_done() noexcept;
  [[nodiscard]] bool unsent() noexcept { return stream_->sending() || !output().empty(); }
  CORACLE_COLD void going_away() noexcept;
  CORACLE_COLD void broken(std::string_view reason) noexcept;
  // Describes the error that ended the byte stream.
  [[nodiscard]] std::string io_failure(std::int64_t error) const;
  void send_failed(std::int64_t error) noexcept;

  loop& loop_;
  std::unique_ptr<net::duplex> stream_;
  http2::connection engine_;
  std::unique_ptr<http1_session> http1_;  // in place of engine_, which has failed then; see engine()
  connection_owner& owner_;
  request_acceptor* acceptor_;
  base::output_buffer in_flight_;
  std::unique_ptr<deferred_input> deferred_;
  std::string end_reason_;
  time_point last_send_{};
  time_point last_received_{};
  connection_counters counters_;
  connection_age_policy age_policy_;
  decode_budget* const budget_;
  message_counts messages_;
  // Created on first use: a server's number of orphaned calls, or a client's connection_peer.
  std::shared_ptr<void> kept_by_calls_;
  std::unique_ptr<header_cache> header_cache_;  // null while the connection is idle
  const std::size_t unread_bytes_max_;
  stall_watch stall_;
  std::vector<stream_ref> waiting_;  // exchanges waiting for on_uncongested(), in order
  std::size_t reported_memory_bytes_ = 0;
  // Of the first request of a server's connection, see exchange::authority(); the last one that the peer of a
  // client's connection covers.
  std::unique_ptr<std::string> authority_;
  const char* close_reason_ = nullptr;  // the reason; null: close_at_turn_end() was not called
  // When to check whether the connection has become idle.
  time_point release_at_ = never;
  // These are last and together, because a server keeps a connection for each idle client, and a test checks
  // its size. The flags that are read for each event and each loop iteration are bytes, the others are bits.
  std::uint32_t opens_left_;  // client
  std::uint32_t end_value_ = 0;
  transport::end_cause end_cause_ = transport::end_cause::unknown;
  bool accounting_due_ = false;  // account memory and check congestion at the end of the iteration
  bool flush_queued_ = false;
  bool dispatching_ = false;
  bool output_stalled_ = false;
  bool receive_paused_ = false;
  bool draining_ = false;
  bool closing_ = false;  // there are no more exchanges; pending output is being sent
  bool send_broken_ = false;
  bool close_called_ = false;
  bool transport_closed_ = false;  // the byte stream is closed
  bool congested_ = false;
  bool withholds_credit_ = false;
  bool reported_going_away_ = false;
  bool memory_pressure_ : 1 = false;
  bool just_resumed_ : 1 = false;  // data received meanwhile may be unread
  bool receive_ended_ : 1 = false;
  bool sent_too_many_pings_ : 1 = false;
  bool asked_for_fewer_resets_ : 1 = false;
  bool abandoned_ : 1 = false;
  bool hung_up_ : 1 = false;  // while receiving is paused: the peer has ended its side
};

}  // namespace coracle::transport
