// web_exchange: a request of gRPC-Web or of the Connect protocol, as the exchange of a gRPC call.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/http/header_list.hpp"
#include "protocol/connect/error.hpp"
#include "protocol/grpc_web/text_body.hpp"
#include "server/call/body_watch.hpp"
#include "server/call/call_handler.hpp"
#include "server/web/web_access.hpp"
#include "transport/converted_credit.hpp"
#include "transport/rewriting_filter.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::server_internal {

// Stands between a server_call and the HTTP exchange of its request, of any version of HTTP. The call reads
// enveloped messages and writes the headers, messages and trailers of gRPC; the protocol translates both.
// Owns itself: it is destroyed when the call releases its exchange, or by give_up().
//
// A response consists of two header blocks of gRPC, headers and trailers, even if it has no message; see
// server_call::send_trailers(). The handler is a call_handler.
class web_exchange : public transport::rewriting_filter, public coro::pooled, protected body_receiver {
 public:
  virtual ~web_exchange() = default;
  // Takes over `inner`. Returns the exchange for the call.
  [[nodiscard]] transport::exchange attach() noexcept { return attach_to(nullptr); }
  // The response gets the fields by which a browser lets a page of another origin read it. May be null.
  void set_cross_origin(std::unique_ptr<cross_origin> fields) noexcept { cross_origin_ = std::move(fields); }
  // No call was made: destroys this object, and returns the HTTP exchange.
  transport::exchange give_up() noexcept {
    const transport::exchange inner = inner_;
    delete this;
    return inner;
  }
  // transport::exchange_target
  void release() noexcept final;

  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) final;
  void on_data(bytes_view bytes, bool end_stream) final { receive(bytes, end_stream); }
  void on_reset(const transport::abnormal_end& end) noexcept final;

 protected:
  // body_receiver: ends the call.
  void on_slow_body() noexcept final;
  explicit web_exchange(transport::exchange inner) noexcept : rewriting_filter(inner) {}

  // The call that handler_, which is not null, belongs to.
  [[nodiscard]] server_call& call() noexcept { return static_cast<call_handler*>(handler_)->call(); }

  // A piece of the request's body. May destroy this object, like every call of handler_.
  virtual void receive(bytes_view bytes, bool end_stream) { handler_->on_data(bytes, end_stream); }
  // The response headers of gRPC: ":status" first. They are in block_.
  virtual void send_response_headers() = 0;
  // The trailers of gRPC are in block_. Ends the response.
  virtual void send_response_end() = 0;

  // Writes the headers of the response: the status, the content-type, and the fields of block_ that the
  // protocols have in common with gRPC.
  void write_headers(std::string_view content_type, std::string_view encoding_name,
                     std::string_view accept_encoding_name);
  // Whether metadata of this size in a header list may be sent; logs that `what` is left out otherwise.
  [[nodiscard]] bool accepts(std::size_t metadata_bytes, std::string_view what) noexcept;
  // Adds the fields of set_cross_origin() to a response whose own fields have these names.
  void add_cross_origin_fields(std::span<const std::string_view> names);
  [[nodiscard]] bool has_cross_origin_fields() const noexcept { return cross_origin_ != nullptr; }
  // The credit of a body that the call gets in another form: `received` bytes became `passed` ones. What the
  // call consumes is returned in proportion, so that a handler that does not read stops its client. Bytes
  // that became none yet are returned at once: their number is limited by the size of a message.
  void owe_credit(std::size_t received, std::size_t passed) noexcept;
  void return_credit(std::size_t consumed) noexcept;

 private:
  void write_block() final {
    std::exchange(headers_sent_, true) ? send_response_end() : send_response_headers();
  }

  std::unique_ptr<cross_origin> cross_origin_;
  transport::converted_credit credit_;
  bool headers_sent_ = false;
};

// The request of a call with one message, whose body the exchange collects. It may have arrived before the
// call begins, or with the request headers.
class whole_request {
 public:
  virtual void deliver(bytes_view body) = 0;
  // Set to true when this object is destroyed; null: not watched.
  void watch(bool* destroyed) noexcept { destroyed_ = destroyed; }

 protected:
  ~whole_request() {
    if (destroyed_) *destroyed_ = true;
  }

 private:
  bool* destroyed_ = nullptr;
};

// A status that a call has written as trailers, and the rest of them.
struct written_status {
  status_code code = status_code::unknown;
  std::string message;
  std::string details;  // google.rpc.Status; may be empty
};
[[nodiscard]] written_status read_written_status(const http::header_list& trailers);
[[nodiscard]] protocol::connect::error connect_error(written_status s);
// The value of Retry-After (RFC 9110 10.2.3) that says what gRPC's pushback says (gRFC A6): seconds, at least
// 1. Empty if there is none, or if the client should not retry.
[[nodiscard]] std::string retry_after_of(const http::header_list& trailers);
// The size of the fields in a header list of HTTP/2.
[[nodiscard]] std::size_t list_bytes_of(const http::header_list& fields) noexcept;
// Whether the field belongs to the status, and is no metadata.
[[nodiscard]] bool is_status_field(std::string_view name) noexcept;

// gRPC-Web (grpc/grpc doc/PROTOCOL-WEB.md): gRPC's messages, and its trailers as the last frame of the body.
class grpc_web_exchange final : public web_exchange {
 public:
  grpc_web_exchange(transport::exchange inner, bool text, std::string_view content_subtype);

  std::uint8_t* reserve_data(std::size_t n) override;
  void commit_data(std::size_t n, bool end_stream) noexcept override;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override;
  void consume(std::size_t n) noexcept override;

 private:
  void receive(bytes_view bytes, bool end_stream) override;
  void send_response_headers() override;
  void send_response_end() override;
  void write_text(bytes_view bytes, bool end_stream);

  // The base64 of both directions; null for the binary form.
  struct text_form {
    protocol::grpc_web::text_decoder decoder;
    protocol::grpc_web::text_encoder encoder;
    std::string decoded;
    std::string encoded;
    std::string reserved;  // of reserve_data()
  };
  const std::string content_type_;
  std::unique_ptr<text_form> text_;
};

// A stream of the Connect protocol: enveloped messages, and JSON as the last one.
class connect_stream_exchange final : public web_exchange {
 public:
  connect_stream_exchange(transport::exchange inner, std::string_view codec);

 private:
  void send_response_headers() override;
  void send_response_end() override;

  const std::string content_type_;
};

}  // namespace coracle::server_internal
