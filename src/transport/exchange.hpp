// exchange: one request and its response, a stream of a connection, as the layers above see it.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"
#include "transport/connection.hpp"
#include "transport/decode_budget.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle::transport {

// Names a stream of a connection. Whoever got it releases it exactly once: at the latest in on_reset(), or when it
// wants no more calls. What was queued with end_stream is still sent. A released or default-made one is empty.
//
// What each function promises is said in http2/connection.hpp; here the connection sends at the end of its loop's turn
// what the engine has written. All are harmless on a stream that has ended meanwhile. Those that are not noexcept throw
// std::bad_alloc without having done anything; the others close the connection when they find no memory.
class exchange {
 public:
  exchange() noexcept = default;
  exchange(connection& c, stream_ref s) noexcept : connection_(&c), stream_(s) {}
  explicit operator bool() const noexcept { return connection_ != nullptr; }

  // A head (or, where no data is queued, trailers), field by field.
  bool begin_headers() noexcept;
  void add_field(std::string_view name, std::string_view value,
                 hpack::indexing policy = hpack::indexing::index) noexcept {
    connection_->engine_.add_field(name, value, policy);
  }
  void keep_fields(hpack::encoded_fields& to) const { connection_->engine_.keep_fields(to); }
  bool add_fields(const hpack::encoded_fields& kept) noexcept {
    return connection_->engine_.add_fields(kept);
  }
  void end_headers(bool end_stream) noexcept;
  // A block encoded by hpack's stateless functions; goes behind queued data.
  bool send_block(bytes_view stateless, bool end_stream);

  // Room in the output when n bytes may leave at once, else null: then queue_data().
  std::uint8_t* reserve_data(std::size_t n);
  void commit_data(std::size_t n, bool end_stream) noexcept;
  // Likewise for a server's head, message and trailers at once. commit_reply() is a release(),
  // too; kept: set_kept() has spoken of it, and the account is to be right at once.
  std::uint8_t* reserve_reply(const whole_reply& r);
  void commit_reply(const whole_reply& r, bool kept) noexcept;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream);
  [[nodiscard]] std::size_t queued() const noexcept { return connection_->engine_.queued(stream_); }
  void want_writable(std::size_t low_bytes) noexcept;

  void consume(std::size_t n) noexcept {
    if (connection_->closing_) return;
    connection_->engine_.consume(stream_, n);
    connection_->touch();
  }
  // For the account of memory: so much of what came on this exchange is kept above.
  void set_kept(std::size_t bytes) noexcept { connection_->set_kept(stream_, bytes); }
  // False: the server has no memory left for so much more of this connection's. Charges nothing.
  [[nodiscard]] bool may_keep(std::size_t more_bytes) noexcept {
    return connection_->owner_.may_keep(*connection_, more_bytes);
  }
  // The peer does not read the replies that it was given: no work is to be begun for it until on_turn() comes,
  // which wait_turn() asks for.
  [[nodiscard]] bool congested() const noexcept { return connection_->congested_; }
  void wait_turn() noexcept { connection_->wait_turn(stream_); }
  // The peer may be unable to send, for reasons that are not its own.
  [[nodiscard]] bool withholds_credit() const noexcept { return connection_->withholds_credit_; }
  // Reads nothing more of the connection until `d` has ended its work; see decode_budget.
  void defer(deferred_decode& d) { connection_->defer(d); }
  [[nodiscard]] decode_budget& budget() const noexcept { return *connection_->budget_; }
  void reset(error_code code) noexcept { connection_->reset(stream_, code); }
  void set_handler(exchange_handler* handler) noexcept { connection_->engine_.set_user(stream_, handler); }
  void release() noexcept {
    connection* const c = std::exchange(connection_, nullptr);
    if (c) c->release(stream_);
  }

  [[nodiscard]] std::unique_ptr<kept_heads>& heads() noexcept { return connection_->heads_; }
  void count_sent() noexcept { ++connection_->messages_.sent; }
  void count_received() noexcept { ++connection_->messages_.received; }
  void count_call_ok() noexcept { ++connection_->messages_.calls_ok; }
  // Handlers of its connection's that run on behind calls that have ended; counted by the layer above, whose calls may
  // outlive the connection.
  [[nodiscard]] std::size_t abandoned() const noexcept {
    return connection_->abandoned_ ? *connection_->abandoned_ : 0;
  }
  [[nodiscard]] std::shared_ptr<std::size_t> share_abandoned() {
    if (!connection_->abandoned_) connection_->abandoned_ = std::make_shared<std::size_t>(0);
    return connection_->abandoned_;
  }
  [[nodiscard]] loop& home() const noexcept { return connection_->home_; }
  [[nodiscard]] const net::address& peer_address() const noexcept { return connection_->peer_address(); }
  [[nodiscard]] const auth_context* auth() const noexcept { return connection_->auth(); }

 private:
  // What is written at once may be put behind what waits for this turn's end.
  [[nodiscard]] bool fits_in_this_send(std::size_t bytes) const noexcept;

  connection* connection_ = nullptr;
  stream_ref stream_ = http2::no_stream;
};

}  // namespace coracle::transport
