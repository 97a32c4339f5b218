// exchange: one request and its response, for the layers above.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/security/connection_peer.hpp"
#include "transport/connection.hpp"
#include "transport/decode_budget.hpp"
#include "transport/exchange_target.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::transport {

// A handle to a stream of an HTTP/2 connection, or to an exchange_target on a connection. Its holder releases
// it exactly once: in on_reset() at the latest, or when it needs no more callbacks. Data queued with
// end_stream is still sent. A released or default-constructed exchange is empty.
//
// http2/connection.hpp documents the functions; here the connection sends what the engine has written at the
// end of the loop iteration. All of them do nothing on a stream that has ended meanwhile. Those that are not
// noexcept throw std::bad_alloc and then have no effect; the others close the connection if memory is
// exhausted.
class exchange {
 public:
  exchange() noexcept = default;
  exchange(connection& c, stream_ref s) noexcept : connection_(&c), stream_(s) {}
  exchange(connection& c, exchange_target& t) noexcept : connection_(&c), target_(&t) {}
  explicit operator bool() const noexcept { return connection_ != nullptr; }
  // Whether it is no stream of an HTTP/2 connection: header blocks then cannot be sent encoded.
  [[nodiscard]] bool has_target() const noexcept { return target_ != nullptr; }
  // An exchange of the same connection behind another target.
  [[nodiscard]] exchange behind(exchange_target& t) const noexcept { return exchange(*connection_, t); }

  // Writes headers (or trailers, if no data is queued), field by field.
  bool begin_headers() noexcept;
  void add_field(std::string_view name, std::string_view value,
                 hpack::indexing policy = hpack::indexing::index) noexcept {
    if (target_) [[unlikely]]
      return target_->add_field(name, value);
    connection_->engine_.add_field(name, value, policy);
  }
  // Server: the fields of every response except those of gRPC. Borrowed until the next loop iteration.
  [[nodiscard]] std::span<const http::header_view> general_fields() const noexcept {
    return connection_->owner_.general_fields(*connection_);
  }
  // Writes those that the response does not have itself: of which `has` returns false.
  template <class F>
  void add_general_fields(F has) {
    for (const auto& [name, value] : general_fields())
      if (!has(name)) add_field(name, value);
  }
  void add_general_fields() noexcept {
    add_general_fields([](std::string_view) { return false; });
  }
  void keep_fields(hpack::encoded_fields& to) const {
    if (!target_) [[likely]]
      connection_->engine_.keep_fields(to);
  }
  bool add_fields(const hpack::encoded_fields& kept) noexcept {
    return !target_ && connection_->engine_.add_fields(kept);
  }
  void end_headers(bool end_stream) noexcept;
  // The size of a header list that the peer accepts, by RFC 9113 6.5.2. HTTP/1.1 has no such setting: it is
  // what this side accepts, then.
  [[nodiscard]] std::size_t peer_header_list_bytes() const noexcept;
  // Sends a block encoded by hpack's stateless functions, after queued data. Not with has_target().
  bool send_block(bytes_view stateless, bool end_stream);

  // Returns space in the output if n bytes may be sent at once, else null: use queue_data() then.
  std::uint8_t* reserve_data(std::size_t n);
  void commit_data(std::size_t n, bool end_stream) noexcept;
  // The same for a server's headers, message and trailers at once. commit_reply() includes release(). kept:
  // set_kept() was called, and the memory account must be updated at once.
  std::uint8_t* reserve_reply(const unary_response& r);
  void commit_reply(const unary_response& r, bool kept) noexcept;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream);
  [[nodiscard]] std::size_t queued() const noexcept {
    if (target_) [[unlikely]]
      return target_->queued();
    return connection_->engine_.queued(stream_);
  }
  void want_writable(std::size_t low_bytes) noexcept;

  void consume(std::size_t n) noexcept {
    if (target_) [[unlikely]]
      return target_->consume(n);
    if (connection_->closing_) return;
    connection_->engine_.consume(stream_, n);
    connection_->schedule_flush();
  }
  // Sets how many bytes of data received on this exchange the layer above keeps, for memory accounting.
  void set_kept(std::size_t bytes) noexcept {
    if (target_) [[unlikely]]
      return target_->set_kept(bytes);
    connection_->set_kept(stream_, bytes);
  }
  // Returns false if the server has no memory for `more_bytes` more of this connection. Charges nothing.
  [[nodiscard]] bool may_keep(std::size_t more_bytes) noexcept {
    return connection_->owner_.may_keep(*connection_, more_bytes);
  }
  // Whether the peer does not read its responses: begin no work for it until on_uncongested() is called,
  // which wait_until_uncongested() requests.
  [[nodiscard]] bool congested() const noexcept { return connection_->congested_; }
  void wait_until_uncongested() noexcept {
    if (target_) [[unlikely]]
      return target_->wait_until_uncongested();
    connection_->wait_until_uncongested(stream_);
  }
  // Whether the peer may be unable to send because this side withholds credit or has paused reading.
  [[nodiscard]] bool withholds_credit() const noexcept { return connection_->withholds_credit_; }
  // Whether a message of the connection waits to be decoded. What arrived after it is handled after it:
  // defer().
  [[nodiscard]] bool defers_decoding() const noexcept { return connection_->is_deferred(); }
  // Stops reading from the connection until `d` has completed its work; see decode_budget.
  void defer(deferred_decode& d) { connection_->defer(d); }
  [[nodiscard]] decode_budget& budget() const noexcept { return *connection_->budget_; }
  void reset(error_code code) noexcept {
    if (target_) [[unlikely]]
      return target_->reset(code);
    connection_->reset(stream_, code);
  }
  // For a layer that has no memory to write what it was given: nothing more is sent, the connection is closed
  // at the end of the loop iteration, and then on_reset() is called.
  void out_of_memory() noexcept;
  void set_handler(exchange_handler* handler) noexcept {
    if (target_) [[unlikely]]
      return target_->set_handler(handler);
    connection_->engine_.set_user(stream_, handler);
  }
  void release() noexcept {
    connection* const c = std::exchange(connection_, nullptr);
    if (!c) return;
    if (target_) [[unlikely]]
      return std::exchange(target_, nullptr)->release();
    c->release(stream_);
  }

  [[nodiscard]] std::unique_ptr<header_cache>& cached_headers() noexcept {
    return connection_->header_cache_;
  }
  // Where the layer above keeps the authority of the connection's requests. Null at first.
  [[nodiscard]] std::unique_ptr<std::string>& authority() noexcept { return connection_->authority_; }
  void count_sent() noexcept { ++connection_->messages_.sent; }
  void count_received() noexcept { ++connection_->messages_.received; }
  void count_call_ok() noexcept { ++connection_->messages_.calls_ok; }
  // The number of orphaned calls of this connection: handlers that still run after their call ended. The
  // layer above counts them, because they may outlive the connection.
  [[nodiscard]] std::size_t orphaned_calls() const noexcept {
    const std::size_t* const counted = connection_->orphaned_calls();
    return counted ? *counted : 0;
  }
  [[nodiscard]] std::shared_ptr<std::size_t> share_orphaned_calls() {
    return connection_->share_orphaned_calls();
  }
  [[nodiscard]] loop& owner_loop() const noexcept { return connection_->loop_; }
  [[nodiscard]] const net::address& peer_address() const noexcept { return connection_->peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept { return connection_->local_address(); }
  // Made by the first call, which throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const connection_peer> peer() const { return connection_->peer(); }
  [[nodiscard]] bool is_http1() const noexcept { return connection_->is_http1(); }
  [[nodiscard]] const auth_context* auth() const noexcept { return connection_->auth(); }

 private:
  // Whether data of this size may be appended to the output of this loop iteration.
  [[nodiscard]] bool fits_in_current_send(std::size_t bytes) const noexcept;

  connection* connection_ = nullptr;
  stream_ref stream_ = http2::no_stream;
  exchange_target* target_ = nullptr;  // in place of the stream
};

}  // namespace coracle::transport
