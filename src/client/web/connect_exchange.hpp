// connect_stream_exchange, connect_unary_exchange: an attempt in the Connect protocol
// (connectrpc.com/docs/protocol).
#pragma once

#include "base/output_buffer.hpp"
#include "client/web/web_exchange.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/compress/encoding.hpp"
#include "protocol/connect/error.hpp"
#include "protocol/web/body_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::client {

// What both kinds have in common.
class connect_exchange : public web_exchange {
 protected:
  connect_exchange(transport::exchange inner, const call_terms& terms, bool stream);
  ~connect_exchange() = default;

  // Writes the request headers. `compressed`: those of a stream that may have compressed messages, or of a
  // unary call whose message is compressed.
  void write_request_headers(std::string_view method, std::string_view path, bool compressed,
                             std::size_t body_bytes);
  // Copies the metadata of the response headers, and their encoding.
  void read_fields(const http::header_list& fields);
  // Ends the call.
  void finish_with(const protocol::connect::error& error, http::header_list trailing);
  void finish_ok(http::header_list trailing);

  const std::string content_type_;
  http::header_list trailing_;  // from headers "trailer-..."
  encoding encoding_ = encoding::identity;  // of the response

 private:
  const bool stream_;
};

// Enveloped messages, and JSON as the last one.
class connect_stream_exchange final : public connect_exchange {
 public:
  connect_stream_exchange(transport::exchange inner, const call_terms& terms);

 private:
  void write_block() override;
  void read_head(const response_head& head, const http::header_list& fields) override;
  void receive(bytes_view bytes) override;
  void end_body() override;
  void destroy() noexcept override { delete this; }

  protocol::web::body_reader reader_;
};

// The messages are the bodies of HTTP. Collects the request, whose length the headers tell, and the response,
// whose length the attempt needs first.
class connect_unary_exchange final : public connect_exchange {
 public:
  connect_unary_exchange(transport::exchange inner, const call_terms& terms, const wire_options& wire);

  std::uint8_t* reserve_data(std::size_t n) override { return request_.reserve(n); }
  void commit_data(std::size_t n, bool end_stream) noexcept override;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override;
  [[nodiscard]] std::size_t queued() const noexcept override { return sent_ ? inner_.queued() : 0; }
  void want_writable(std::size_t low_bytes) noexcept override;
  // The credit of a body is returned when it is collected.
  void consume(std::size_t) noexcept override {}

 private:
  void write_block() override {}  // with the message
  void read_head(const response_head& head, const http::header_list& fields) override;
  void receive(bytes_view bytes) override;
  void end_body() override;
  void destroy() noexcept override { delete this; }
  void send_request();
  [[nodiscard]] bool compress_small(bytes_view& message);
  // Returns true if the request was sent as a GET request.
  [[nodiscard]] bool send_get(std::string_view path, bool compressed, std::string_view message);
  void end_with_error();

  const std::size_t max_receive_bytes_;
  const compression compression_;
  const std::size_t get_target_bytes_max_;  // 0: no GET request
  base::output_buffer request_;
  base::output_buffer body_;  // after room for a prefix
  int error_status_ = 0;  // the HTTP status of a response whose body is an error
  bool sent_ = false;
};

}  // namespace coracle::client
