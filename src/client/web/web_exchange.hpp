// web_exchange: an attempt of a call in another protocol than gRPC.
#pragma once

#include "client/call/call_attempt.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/http/header_list.hpp"
#include "protocol/web/body_reader.hpp"
#include "transport/decode_budget.hpp"
#include "transport/rewriting_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

// attach() below, for what stands between the attempt and HTTP.
void attach_behind(call_attempt& a, transport::exchange x, const call_target& target) noexcept;

// Gives the attempt the exchange `x` of an HTTP connection, in the protocol of the target; see
// call_attempt::attach(). If there is no memory for that, the attempt fails.
inline void attach(call_attempt& a, transport::exchange x, const call_target& target) noexcept {
  if (target.wire.protocol == call_protocol::grpc && !target.wire.observer) [[likely]]
    return a.attach(x, target);
  attach_behind(a, x, target);
}

// Stands between an attempt and the HTTP exchange of its request, of any version of HTTP. The attempt writes
// and reads what gRPC sends over HTTP/2: headers, enveloped messages and trailers; the protocol translates
// both. Owns itself: it is destroyed when the attempt releases its exchange.
//
// The headers of a response without an error are passed to the attempt when they arrive, those of a unary
// call with its message. An error without a message before it then consists of one block, as gRPC's
// Trailers-Only, so that a retry policy applies to it; its metadata is all trailing metadata.
//
// The handler is the attempt; inner_ is empty when the attempt has released its exchange.
class web_exchange : public transport::rewriting_filter, public coro::pooled {
 public:
  // Takes over the exchange. Returns that of the attempt.
  [[nodiscard]] transport::exchange attach(transport::exchange_handler& attempt) noexcept {
    return attach_to(&attempt);
  }

  // transport::exchange_target
  void release() noexcept final;

  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) final;
  void on_data(bytes_view bytes, bool end_stream) final;
  void on_writable() final;
  void on_reset(const transport::abnormal_end& end) noexcept final;

 protected:
  // The response headers of HTTP.
  struct response_head {
    int http_status = 0;
    std::string_view content_type;
  };

  web_exchange(transport::exchange inner, const call_terms& terms);
  ~web_exchange() = default;

  // rewriting_filter: the request headers of gRPC are in block_.
  void write_block() override = 0;
  // Response headers have arrived. Calls accept_response(), and adds the fields of gRPC to response_; or
  // calls reject_response() or expect_error().
  virtual void read_head(const response_head& head, const http::header_list& fields) = 0;
  // A piece of the response's body, which is not empty. Returns its credit.
  virtual void receive(bytes_view bytes) = 0;
  // The body is complete. Calls finish() or fail().
  virtual void end_body() = 0;

  // Begins the headers for the attempt.
  void accept_response(std::string_view content_subtype);
  // The response is not of this protocol: the call ends with a status for it. `expected` names the
  // content-type that it should have.
  void reject_response(const response_head& head, std::string_view expected);

  // --- for the attempt. After each of these the attempt may have released its exchange: see released().
  void deliver_headers();
  // Also delivers the headers, if that has not happened yet.
  void deliver_data(bytes_view bytes);
  // Passes on the messages of a body that ends with a frame of the protocol's own, which stays in the reader.
  // `last`: what that frame is, for the words of an error.
  void receive_frames(protocol::web::body_reader& reader, bytes_view bytes, std::string_view last);
  // Ends the call. `trailers`: as gRPC sends them, with a status.
  void finish(http::header_list trailers, bool ok);
  // Ends the call with an error.
  void fail(const status& reason);
  [[nodiscard]] bool released() const noexcept { return !inner_; }
  [[nodiscard]] bool finished() const noexcept { return finished_; }

  // The codec of the call: "proto" if it has no name.
  [[nodiscard]] std::string_view codec() const noexcept { return codec_; }

  // While a function of the attempt may be on the stack, this object is not destroyed.
  class callback {
   public:
    explicit callback(web_exchange& x) noexcept : x_(x) { ++x_.callbacks_; }
    callback(const callback&) = delete;
    callback& operator=(const callback&) = delete;
    ~callback() {
      if (--x_.callbacks_ == 0 && x_.released()) x_.destroy();
    }

   private:
    web_exchange& x_;
  };
  http::header_list response_;  // the headers for the attempt
  bool headers_delivered_ = false;
  const bool unary_;

 private:
  // The end of the call waits until the message before it is decoded.
  struct deferred_end final : transport::deferred_decode {
    explicit deferred_end(web_exchange& x) noexcept : owner(x) {}
    bool continue_decoding() noexcept override;
    web_exchange& owner;
  };

  virtual void destroy() noexcept = 0;
  void end_of_response();
  void pass_end();

  const std::string codec_;
  std::optional<status> rejection_;
  std::uint64_t too_large_headers_bytes_ = 0;  // not 0: the response headers exceeded the limit
  http::header_list end_;
  deferred_end deferred_end_{*this};
  unsigned callbacks_ = 0;
  bool data_delivered_ = false;
  bool finished_ = false;
  bool merged_end_ = false;  // end_ includes the headers
};

// The body of a response that is not of the protocol is read up to this size, so that its connection can be
// used again.
inline constexpr std::size_t rejected_body_bytes_max = 64u << 10;

}  // namespace coracle::client
