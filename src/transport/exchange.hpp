// exchange: one request and its response, for the layers above.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/security/connection_peer.hpp"
#include "transport/connection.hpp"
#include "transport/decode_budget.hpp"
#include "transport/exchange_operations.hpp"
#include "transport/exchange_target.hpp"
#include "transport/http2_stream.hpp"

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
// exchange_operations.hpp documents the operations. Here the connection sends what the engine has written at
// the end of the loop iteration.
class exchange {
 public:
  exchange() noexcept = default;
  exchange(connection& c, stream_ref s) noexcept : stream_(c, s) {}
  exchange(connection& c, exchange_target& t) noexcept : stream_(c), target_(&t) {}
  explicit operator bool() const noexcept { return stream_.connection_ != nullptr; }
  // Whether it is no stream of an HTTP/2 connection: header blocks then cannot be sent encoded.
  [[nodiscard]] bool has_target() const noexcept { return target_ != nullptr; }
  // An exchange of the same connection behind another target.
  [[nodiscard]] exchange behind(exchange_target& t) const noexcept { return exchange(of(), t); }

#define CORACLE_OPERATION(result, name, parameters, arguments, qualifiers) \
  result name parameters qualifiers {                                      \
    if (target_) [[unlikely]]                                              \
      return target_->name arguments;                                      \
    return stream_.name arguments;                                         \
  }
  CORACLE_EXCHANGE_OPERATIONS(CORACLE_OPERATION)
#undef CORACLE_OPERATION

  void add_field(std::string_view name, std::string_view value) noexcept {
    add_field(name, value, hpack::indexing::index);
  }
  // Server: the fields of every response except those of gRPC. Borrowed until the next loop iteration.
  [[nodiscard]] std::span<const http::header_view> general_fields() const noexcept {
    return of().owner_.general_fields(of());
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
      of().engine_.keep_fields(to);
  }
  bool add_fields(const hpack::encoded_fields& kept) noexcept {
    return !target_ && of().engine_.add_fields(kept);
  }
  bool send_fields(const hpack::encoded_fields& kept) noexcept {
    return !target_ && stream_.send_fields(kept);
  }
  // See http2::connection; on the stream whose headers are being handled.
  [[nodiscard]] bool peek_content(std::size_t bytes_max, bytes_view& out) noexcept {
    return !target_ && !of().close_reason_ && of().engine_.peek_content(stream_.ref_, bytes_max, out);
  }
  void take_content(bytes_view content) noexcept { of().take_content(stream_.ref_, content); }
  [[nodiscard]] bool peek_rest(std::size_t bytes_max, response_rest& out) noexcept {
    return !target_ && !of().close_reason_ && of().engine_.peek_rest(stream_.ref_, bytes_max, out);
  }
  void take_rest(const response_rest& rest) noexcept { of().take_rest(stream_.ref_, rest); }
  // The size of a header list that the peer accepts, by RFC 9113 6.5.2. HTTP/1.1 has no such setting: it is
  // what this side accepts, then.
  [[nodiscard]] std::size_t peer_header_list_bytes() const noexcept;
  // Sends a block encoded by hpack's stateless functions, after queued data. Not with has_target().
  bool send_block(bytes_view stateless, bool end_stream) { return stream_.send_block(stateless, end_stream); }
  // The whole response of a server, of such blocks in pieces, with its end; includes release(). The content
  // of the request is dropped. Not with has_target().
  void answer_with_block(std::span<const bytes_view> stateless) {
    return stream_.answer_with_block(stateless);
  }

  // Sends the bytes now, or when the peer permits.
  void write(bytes_view bytes, bool end_stream);
  // reserve_data() and commit_data() for a server's headers, message and trailers at once. commit_reply()
  // includes release(). kept: set_kept() was called, and the memory account must be updated at once.
  std::uint8_t* reserve_reply(const unary_response& r) {
    if (target_) [[unlikely]]
      return target_->reserve_reply(r.message_bytes);
    return stream_.reserve_reply(r);
  }
  void commit_reply(const unary_response& r, bool kept) noexcept {
    if (target_) [[unlikely]] {
      events().ring().call_ended(events().number(), recorded_stream(), 0);
      return std::exchange(*this, exchange()).target_->commit_reply(r.message_bytes);
    }
    stream_.commit_reply(r, kept);
  }
  // Returns false if the server has no memory for `more_bytes` more of this connection. Charges nothing.
  [[nodiscard]] bool may_keep(std::size_t more_bytes) noexcept {
    return of().owner_.may_keep(of(), more_bytes);
  }
  // Whether the peer does not read its responses: begin no work for it until on_uncongested() is called,
  // which wait_until_uncongested() requests.
  [[nodiscard]] bool congested() const noexcept { return of().congested_; }
  // Whether the peer may be unable to send because this side withholds credit or has paused reading.
  [[nodiscard]] bool withholds_credit() const noexcept { return of().withholds_credit_; }
  // Whether a message of the connection waits to be decoded. What arrived after it is handled after it:
  // defer().
  [[nodiscard]] bool defers_decoding() const noexcept { return of().is_deferred(); }
  // Stops reading from the connection until `d` has completed its work; see decode_budget.
  void defer(deferred_decode& d) { of().defer(d); }
  [[nodiscard]] decode_budget& budget() const noexcept { return *of().budget_; }
  void set_handler(exchange_handler* handler) noexcept {
    if (target_) [[unlikely]]
      return target_->set_handler(handler);
    stream_.set_handler(handler);
  }
  void release() noexcept {
    if (!*this) return;
    if (target_) [[unlikely]]
      return std::exchange(*this, exchange()).target_->release();
    stream_.release();
  }

  // For the recorder: the connection, and the stream. An exchange that is no stream of HTTP/2 has a number
  // with the highest bit set, which no other one of the connection has at the same time.
  [[nodiscard]] const base::recorded_connection& events() const noexcept { return of().engine_.events(); }
  // The stream of the frame that the connection has received last.
  [[nodiscard]] std::uint32_t received_stream() const noexcept { return of().engine_.received_stream(); }
  [[nodiscard]] std::uint32_t recorded_stream() const noexcept {
    if (target_) [[unlikely]]
      return 1u << 31 | static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(target_) >> 4);
    return of().engine_.id_of(stream_.ref_);
  }
  [[nodiscard]] std::unique_ptr<header_cache>& cached_headers() noexcept { return of().header_cache_; }
  // Where the layer above keeps the authority of the connection's requests. Null at first.
  [[nodiscard]] std::unique_ptr<std::string>& authority() noexcept { return of().authority_; }
  void count_sent() noexcept { ++of().messages_.sent; }
  void count_received() noexcept { ++of().messages_.received; }
  void count_call_ok() noexcept { ++of().messages_.calls_ok; }
  // The number of orphaned calls of this connection: handlers that still run after their call ended. The
  // layer above counts them, because they may outlive the connection.
  [[nodiscard]] std::size_t orphaned_calls() const noexcept {
    const std::size_t* const counted = of().orphaned_calls();
    return counted ? *counted : 0;
  }
  [[nodiscard]] std::shared_ptr<std::size_t> share_orphaned_calls() { return of().share_orphaned_calls(); }
  [[nodiscard]] loop& owner_loop() const noexcept { return of().loop_; }
  [[nodiscard]] const net::address& peer_address() const noexcept { return of().peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept { return of().local_address(); }
  // Made by the first call, which throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const connection_peer> peer() const { return of().peer(); }
  [[nodiscard]] bool is_http1() const noexcept { return of().is_http1(); }
  [[nodiscard]] const auth_context* auth() const noexcept { return of().auth(); }
  // Client: whether the peer may get requests with this authority, see net::duplex::covers().
  [[nodiscard]] bool covers(std::string_view authority) const noexcept { return of().covers(authority); }
  // See net::duplex::mark().
  [[nodiscard]] const std::shared_ptr<const void>& mark() const noexcept { return of().mark(); }

 private:
  [[nodiscard]] connection& of() const noexcept { return *stream_.connection_; }

  http2_stream stream_;
  exchange_target* target_ = nullptr;  // in place of the stream
};

}  // namespace coracle::transport
