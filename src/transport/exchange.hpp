// exchange: one request and its response on some connection, as the layers above see it.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/auth_context.hpp"
#include "http2/event.hpp"
#include "transport/decode_budget.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle {
class loop;
}

namespace coracle::transport {

using http2::error_code;
using http2::field;
using http2::initiator;
using http2::whole_reply;
using stream_ref = http2::stream_ref;

// The fields of a header block that has just arrived. Valid during the callback that it is given to.
class header_source {
 public:
  // The next field, in order; its views are valid until the next call. False at the end.
  virtual bool next(field& out) = 0;
  // After next() gave false: the block kept to the rules. If not, the exchange has been reset, and
  // on_reset() follows: forget what was read.
  [[nodiscard]] virtual bool ok() const noexcept = 0;
  // See http2::connection::set_slot().
  virtual void set_slot(std::uint32_t slot) noexcept = 0;
  // See http2::connection::head_number() and head_repeats(), for heads of requests.
  [[nodiscard]] virtual std::uint32_t number() const noexcept = 0;
  [[nodiscard]] virtual bool repeats(std::uint32_t number) = 0;

 protected:
  ~header_source() = default;
};

// What the layer above has read of the head that has this number.
struct read_head {
  read_head() = default;
  read_head(const read_head&) = delete;
  read_head& operator=(const read_head&) = delete;
  virtual ~read_head() = default;
  std::uint32_t number = 0;
};

enum class block_kind : std::uint8_t { informational, head, trailers };

// How an exchange ended that did not end well.
struct abnormal_end {
  error_code code = error_code::no_error;
  initiator by = initiator::peer;
  bool unprocessed = false;  // the peer surely never saw it: it may be sent again
  bool disconnected = false; // with its whole connection
  std::string_view reason{}; // borrowed for the call
};

// The upper side of an exchange. Called on the connection's loop, between the engine's events: any
// function of the exchange may be called from inside, exchange::release() included, after which
// nothing is called any more. What is not noexcept may throw std::bad_alloc as long as the exchange is not released:
// the stream is reset then, and on_reset() says so (ENHANCE_YOUR_CALM, by the user).
class exchange_handler {
 public:
  virtual void on_headers(header_source& fields, block_kind kind, bool end_stream) = 0;
  // Borrowed for the call; give the credit back with exchange::consume().
  virtual void on_data(bytes_view bytes, bool end_stream) = 0;
  virtual void on_writable() = 0;
  // The answer to exchange::wait_turn().
  virtual void on_turn() {}
  // The last call; release the exchange in it, its connection may be gone afterwards.
  virtual void on_reset(const abnormal_end& end) noexcept = 0;

 protected:
  ~exchange_handler() = default;
};

// What a carrier has carried, for snapshots. Plain numbers of its loop, counted by the layer above.
struct message_counts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t calls_ok = 0;  // of a client
};

// The lower side: a connection that carries exchanges, numbered by stream_ref. HTTP/2 is one, a
// later HTTP/1.1 another. What each function promises is said in http2/connection.hpp; all are
// harmless on a stream that has ended meanwhile. Those that are not noexcept throw std::bad_alloc without having done
// anything; the others close the connection when they find no memory.
class carrier {
 public:
  message_counts messages;
  // Handlers of it that run on behind calls that have ended; null while there never was one. Counted by the layer
  // above, whose calls may outlive the carrier.
  std::shared_ptr<std::size_t> abandoned;
  // The last that is likely to come again, kept by the layer above; null while the carrier is idle.
  std::unique_ptr<read_head> last_head;

  // Null for a carrier that only stands for others.
  [[nodiscard]] decode_budget* budget() const noexcept { return budget_; }
  // Reads nothing more from its peer until `d` has ended its work; see decode_budget.
  virtual void defer(deferred_decode&) {}

  // A head (or, where no data is queued, trailers), field by field.
  virtual bool begin_headers(stream_ref s) noexcept = 0;
  virtual void add_field(std::string_view name, std::string_view value, bool index) noexcept = 0;
  virtual void end_headers(stream_ref s, bool end_stream) noexcept = 0;
  // A block encoded by hpack's stateless functions; goes behind queued data.
  virtual bool send_block(stream_ref s, bytes_view stateless, bool end_stream) = 0;

  // Room in the output when n bytes may leave at once, else null: then queue_data().
  virtual std::uint8_t* reserve_data(stream_ref s, std::size_t n) = 0;
  virtual void commit_data(stream_ref s, std::size_t n, bool end_stream) noexcept = 0;
  // Likewise for a server's head, message and trailers at once.
  virtual std::uint8_t* reserve_reply(stream_ref, const whole_reply&) { return nullptr; }
  virtual void commit_reply(stream_ref, const whole_reply&) noexcept {}
  virtual bool queue_data(stream_ref s, std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                          bool end_stream) = 0;
  [[nodiscard]] virtual std::size_t queued(stream_ref s) const noexcept = 0;
  virtual void want_writable(stream_ref s, std::size_t low_bytes) noexcept = 0;

  virtual void consume(stream_ref s, std::size_t n) noexcept = 0;
  // A carrier that keeps no account of memory is never congested.
  virtual void set_kept(stream_ref, std::size_t /*bytes*/) noexcept {}
  // Whether the account has room for so much more. Charges nothing.
  [[nodiscard]] virtual bool may_keep(std::size_t /*more_bytes*/) noexcept { return true; }
  virtual void wait_turn(stream_ref) noexcept {}
  [[nodiscard]] bool congested() const noexcept { return congested_; }
  [[nodiscard]] bool withholds_credit() const noexcept { return withholds_credit_; }
  virtual void reset(stream_ref s, error_code code) noexcept = 0;
  virtual void release(stream_ref s) noexcept = 0;
  virtual void set_handler(stream_ref s, exchange_handler* handler) noexcept = 0;

  [[nodiscard]] virtual loop& home() const noexcept = 0;
  [[nodiscard]] virtual const net::address& peer_address() const noexcept = 0;
  // Null in plaintext. As long-lived as the connection.
  [[nodiscard]] virtual const net::auth_context* auth() const noexcept = 0;

 protected:
  ~carrier() = default;
  decode_budget* budget_ = nullptr;
  bool congested_ = false;
  bool withholds_credit_ = false;
};

// A name for (carrier, stream). Whoever got it releases it exactly once: at the latest in
// on_reset(), or when it wants no more calls. What was queued with end_stream is still sent. A
// released or default-made one is empty.
class exchange {
 public:
  exchange() noexcept = default;
  exchange(carrier& c, stream_ref s) noexcept : carrier_(&c), stream_(s) {}
  explicit operator bool() const noexcept { return carrier_ != nullptr; }

  bool begin_headers() noexcept { return carrier_->begin_headers(stream_); }
  void add_field(std::string_view name, std::string_view value, bool index = true) noexcept {
    carrier_->add_field(name, value, index);
  }
  void end_headers(bool end_stream) noexcept { carrier_->end_headers(stream_, end_stream); }
  bool send_block(bytes_view stateless, bool end_stream) {
    return carrier_->send_block(stream_, stateless, end_stream);
  }
  std::uint8_t* reserve_data(std::size_t n) { return carrier_->reserve_data(stream_, n); }
  void commit_data(std::size_t n, bool end_stream) noexcept { carrier_->commit_data(stream_, n, end_stream); }
  std::uint8_t* reserve_reply(const whole_reply& r) { return carrier_->reserve_reply(stream_, r); }
  void commit_reply(const whole_reply& r) noexcept { carrier_->commit_reply(stream_, r); }
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
    return carrier_->queue_data(stream_, std::move(bytes), n, end_stream);
  }
  [[nodiscard]] std::size_t queued() const noexcept { return carrier_->queued(stream_); }
  void want_writable(std::size_t low_bytes) noexcept { carrier_->want_writable(stream_, low_bytes); }
  void consume(std::size_t n) noexcept { carrier_->consume(stream_, n); }
  // For the account of memory: so much of what came on this exchange is kept above.
  void set_kept(std::size_t bytes) noexcept { carrier_->set_kept(stream_, bytes); }
  // False: the server has no memory left for so much more of this connection's.
  [[nodiscard]] bool may_keep(std::size_t more_bytes) noexcept { return carrier_->may_keep(more_bytes); }
  // The peer does not read the replies that it was given: no work is to be begun for it until on_turn() comes,
  // which wait_turn() asks for.
  [[nodiscard]] bool congested() const noexcept { return carrier_->congested(); }
  void wait_turn() noexcept { carrier_->wait_turn(stream_); }
  // The peer may be unable to send, for reasons that are not its own.
  [[nodiscard]] bool withholds_credit() const noexcept { return carrier_->withholds_credit(); }
  void reset(error_code code) noexcept { carrier_->reset(stream_, code); }
  void set_handler(exchange_handler* handler) noexcept { carrier_->set_handler(stream_, handler); }
  void release() noexcept {
    carrier* c = std::exchange(carrier_, nullptr);
    if (c) c->release(stream_);
  }
  [[nodiscard]] std::unique_ptr<read_head>& last_head() noexcept { return carrier_->last_head; }
  [[nodiscard]] decode_budget* budget() const noexcept { return carrier_->budget(); }
  // Of a connection, not of a carrier that stands for others.
  void charge_small(std::size_t bytes) noexcept { carrier_->budget()->charge_small(bytes); }
  // The connection's input waits behind `d`, which waits for its share of the loop's decode budget.
  void defer(deferred_decode& d) { carrier_->defer(d); }
  void count_sent() noexcept { ++carrier_->messages.sent; }
  void count_received() noexcept { ++carrier_->messages.received; }
  void count_call_ok() noexcept { ++carrier_->messages.calls_ok; }
  [[nodiscard]] std::size_t abandoned() const noexcept {
    return carrier_->abandoned ? *carrier_->abandoned : 0;
  }
  [[nodiscard]] std::shared_ptr<std::size_t> share_abandoned() {
    if (!carrier_->abandoned) carrier_->abandoned = std::make_shared<std::size_t>(0);
    return carrier_->abandoned;
  }
  [[nodiscard]] loop& home() const noexcept { return carrier_->home(); }
  [[nodiscard]] const net::address& peer_address() const noexcept { return carrier_->peer_address(); }
  [[nodiscard]] const net::auth_context* auth() const noexcept { return carrier_->auth(); }

 private:
  carrier* carrier_ = nullptr;
  stream_ref stream_ = http2::no_stream;
};

// A server's side: decides who handles a new request.
class request_acceptor {
 public:
  // Pulls the head's fields. Takes `x` over: a handler is set on it (exchange::set_handler), or it was
  // answered and released. end_stream: the request has no body.
  // May throw std::bad_alloc: an exchange without a handler is reset then.
  virtual void on_request(exchange x, header_source& fields, bool end_stream) = 0;

 protected:
  ~request_acceptor() = default;
};

}  // namespace coracle::transport
