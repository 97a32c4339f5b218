// connection: an HTTP/2 engine on a byte stream, on one loop.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "http2/connection.hpp"
#include "net/duplex.hpp"
#include "transport/connection_options.hpp"
#include "transport/decode_budget.hpp"
#include "transport/exchange_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::transport {

// Times are those of the turn; zero where nothing of the kind has happened yet.
struct connection_figures {
  std::uint64_t streams_started = 0;
  std::uint64_t streams_succeeded = 0;  // whose end was sent (server) or received (client)
  std::uint64_t streams_open = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t keepalives_sent = 0;
  time_point last_stream_started{};
  time_point last_message_sent{};
  time_point last_message_received{};
  std::int64_t send_window_bytes = 0;
  std::int64_t receive_window_bytes = 0;
};

using http2::limits;
using http2::role;

class connection;

// What a connection has carried, for snapshots. Plain numbers of its loop, counted by the layer above.
struct message_counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t calls_ok = 0;  // of a client
};

// What the layer above knows of the heads that came or went on a connection and are likely to come or go again.
struct kept_heads {
  kept_heads() = default;
  kept_heads(const kept_heads&) = delete;
  kept_heads& operator=(const kept_heads&) = delete;
  virtual ~kept_heads() = default;
};

// Who keeps a connection. Called on its loop.
class connection_owner {
 public:
  // The peer's first SETTINGS have arrived.
  virtual void on_ready(connection&) noexcept {}
  // Another exchange may be opened (client).
  virtual void on_slots(connection&) noexcept {}
  // No new exchanges here: the peer sent GOAWAY, or the connection broke. Once.
  virtual void on_going_away(connection&) noexcept {}
  // Server: it holds `bytes` now; said once a turn when that differs by some KiB from what was said last, and when
  // a large reply is queued. give_up() and press() may be called inside.
  virtual void on_memory(connection&, std::size_t /*bytes*/) noexcept {}
  // Whether it may hold so much more.
  [[nodiscard]] virtual bool may_keep(connection&, std::size_t /*more_bytes*/) noexcept { return true; }
  // The end: every exchange has been told. The owner may destroy the connection in the call.
  virtual void on_closed(connection&) noexcept = 0;

 protected:
  ~connection_owner() = default;
};

// Reads, parses, lets handlers run and gathers what they send; the whole turn's output leaves in one
// send at the turn's end. Lives on one loop and belongs to its owner, who destroys it in on_closed(). What is done with
// one stream is done by its exchange.
class connection final : private net::duplex_sink, private coro::work, private coro::timer {
 public:
  // acceptor: null for a client.
  connection(loop& home, std::unique_ptr<net::duplex> stream, http2::role r, const connection_options& o,
             connection_owner& owner, request_acceptor* acceptor);
  ~connection();
  void start();

  // Client: empty when no stream can be opened now (limit, GOAWAY, broken).
  exchange open(exchange_handler& handler) noexcept;
  [[nodiscard]] bool can_open() const noexcept { return !closing_ && engine_.can_open(); }
  [[nodiscard]] std::size_t open_streams() const noexcept { return engine_.open_streams(); }

  // Two-step GOAWAY (server) or no new streams (client); closes when the last exchange has ended.
  void drain() noexcept;
  // Ends every exchange (on_reset, disconnected), sends GOAWAY and what is pending, closes. A peer
  // that does not read, or does not end its side, has `linger` to do so.
  void close(http2::error_code code, std::string_view reason) noexcept;
  // At the turn's end close(ENHANCE_YOUR_CALM); what is queued until then is dropped at once. `reason` is a literal: it
  // is kept as a pointer.
  void give_up(const char* reason) noexcept;
  // While on: no new streams, and no connection credit.
  void press(bool on) noexcept;
  [[nodiscard]] const std::string& end_reason() const noexcept { return end_reason_; }
  // The peer's GOAWAY asks for fewer PINGs: the next connection's keepalive time is to be twice as long (gRFC A8).
  // To be asked in on_going_away().
  [[nodiscard]] bool sent_too_many_pings() const noexcept { return sent_too_many_pings_; }

  [[nodiscard]] connection_figures figures() noexcept;
  [[nodiscard]] const net::address& local_address() const noexcept { return stream_->local_address(); }
  [[nodiscard]] const net::address& peer_address() const noexcept { return stream_->peer_address(); }
  // Null in plaintext. As long-lived as the connection.
  [[nodiscard]] const auth_context* auth() const noexcept { return stream_->auth(); }

  [[nodiscard]] const message_counts& messages() const noexcept { return messages_; }

 private:
  friend class exchange;
  // What the decode budget did not cover. There is one only for as long as something waits.
  struct deferred_input final : deferred_decode {
    explicit deferred_input(connection& c) noexcept : owner(c) {}
    bool continue_decoding() noexcept override { return owner.continue_decoding(); }
    connection& owner;
    base::intrusive_list<deferred_decode> calls;  // with a message that waits, in order
    base::output_buffer unread;  // came behind these messages
    bool engine_reads = false;  // from `unread`
    std::int64_t send_error =
        0;  // not 0: a send has failed meanwhile; the connection breaks when all is read
  };
  // Bulk waits in the streams' queues while so much is in the output: a small reply that becomes ready while it is being
  // sent waits for no more than that.
  static constexpr std::size_t bulk_high_bytes = 64u << 10;

  void received(bytes_view bytes) noexcept override;
  void receive_ended(std::int64_t result) noexcept override;
  void sent(std::int64_t result) noexcept override;
  void memory_changed() noexcept override;
  void closed() noexcept override;

  // --- for exchange
  void defer(deferred_decode& d);
  void set_kept(stream_ref s, std::size_t bytes) noexcept;
  void wait_turn(stream_ref s) noexcept;
  void reset(stream_ref s, error_code code) noexcept;
  void release(stream_ref s) noexcept;
  void note_released(stream_ref s) noexcept;
  [[gnu::hot, gnu::flatten]] void dispatch() noexcept;
  // The decode budget is spent, or a call of this connection waits for it: what was not read yet is kept for later.
  [[gnu::cold, gnu::noinline]] void put_input_aside() noexcept;
  // Input or calls wait for the decode budget.
  [[nodiscard]] bool is_deferred() const noexcept {
    return deferred_ && (!deferred_->calls.empty() || !deferred_->unread.empty());
  }
  bool continue_decoding() noexcept;
  void update_receiving() noexcept;
  void handle(const http2::event& e) noexcept;
  // Does f, which calls the handler of a stream or the acceptor. When memory runs out there, the exchange ends.
  template <class F>
  void call_up(stream_ref s, F f) noexcept;
  [[gnu::cold, gnu::noinline]] void out_of_memory(stream_ref s) noexcept;
  [[gnu::cold, gnu::noinline]] void set_end_reason(std::string_view first, std::string_view then = {},
                                                   std::string_view last = {}) noexcept;
  void touch() noexcept;  // something is to be sent: have flush() called at the turn's end
  void flush() noexcept;
  [[gnu::noinline]] void update_timer() noexcept;
  void mind_age() noexcept;
  void mind_memory() noexcept;
  void note_congestion() noexcept;
  void mind_congestion() noexcept;
  void mind_stall() noexcept;
  void stream_begins() noexcept;
  void note_received() noexcept;
  void note_sent() noexcept;
  void release_if_idle() noexcept;
  [[gnu::noinline]] void finish_if_done() noexcept;
  [[nodiscard]] bool unsent() noexcept { return stream_->sending() || !engine_.output().empty(); }
  [[gnu::cold, gnu::noinline]] void going_away() noexcept;
  [[gnu::cold, gnu::noinline]] void broken(std::string_view reason) noexcept;
  // What ended the byte stream.
  [[nodiscard]] std::string io_failure(std::int64_t error) const;
  void send_failed(std::int64_t error) noexcept;

  loop& home_;
  std::unique_ptr<net::duplex> stream_;
  http2::connection engine_;
  connection_owner& owner_;
  request_acceptor* acceptor_;
  base::output_buffer in_flight_;
  std::unique_ptr<deferred_input> deferred_;
  std::string end_reason_;
  time_point last_send_{};
  time_point last_received_{};
  connection_figures counted_;
  lifespan life_;
  decode_budget* const budget_;
  message_counts messages_;
  std::shared_ptr<std::size_t> abandoned_;  // see exchange::abandoned(); null while there never was one
  std::unique_ptr<kept_heads> heads_;  // null while the connection is idle
  const std::size_t unread_bytes_max_;
  stall_watch stall_;
  std::vector<stream_ref> waiting_;  // for their turn, in order
  std::size_t told_memory_bytes_ = 0;
  const char* given_up_ = nullptr;  // why
  // When to look whether it has become idle.
  time_point release_at_ = never;
  // Last, and together: a server keeps a connection for each client that idles, and its size is tested. The flags that
  // are looked at for each event and each turn are bytes, the others are bits.
  std::uint32_t opens_left_;  // client
  bool weigh_ = false;  // look at memory and congestion when the turn ends
  bool flush_queued_ = false;
  bool dispatching_ = false;
  bool output_stalled_ = false;
  bool receive_paused_ = false;
  bool draining_ = false;
  bool closing_ = false;  // no exchange is left; what is pending is being sent
  bool send_broken_ = false;
  bool close_called_ = false;
  bool gone_ = false;  // the byte stream is closed
  bool congested_ = false;
  bool withholds_credit_ = false;
  bool told_going_away_ = false;
  bool pressed_ : 1 = false;
  bool just_resumed_ : 1 = false;  // and what came meanwhile may be unread
  bool receive_ended_ : 1 = false;
  bool sent_too_many_pings_ : 1 = false;
};

}  // namespace coracle::transport
