// grpc_web_exchange: an attempt in gRPC-Web (grpc/grpc doc/PROTOCOL-WEB.md): gRPC's messages, and its
// trailers as the last frame of the body.
#pragma once

#include "client/web/web_exchange.hpp"
#include "coracle/compress/encoding.hpp"
#include "protocol/grpc_web/text_body.hpp"
#include "protocol/grpc_web/trailers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::client {

class grpc_web_exchange final : public web_exchange {
 public:
  grpc_web_exchange(transport::exchange inner, const call_terms& terms, bool text);

  std::uint8_t* reserve_data(std::size_t n) override;
  void commit_data(std::size_t n, bool end_stream) noexcept override;
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override;
  void consume(std::size_t n) noexcept override;

 private:
  void write_block() override;
  void read_head(const response_head& head, const http::header_list& fields) override;
  void receive(bytes_view bytes) override;
  void end_body() override;
  void destroy() noexcept override { delete this; }
  void read_trailers();
  void write_text(bytes_view bytes, bool end_stream);

  const std::string content_type_;
  const bool one_reply_;  // which comes after the requests
  protocol::grpc_web::body_reader reader_;
  // The text form of the request.
  struct text_request {
    protocol::grpc_web::text_encoder encoder;
    std::string encoded;
    std::string reserved;  // of reserve_data()
  };
  std::unique_ptr<text_request> text_;  // null: the binary form
  // The text form of the response, which the server may choose.
  struct text_response {
    protocol::grpc_web::text_decoder decoder;
    std::string decoded;
    std::size_t uncredited = 0;  // bytes of text
  };
  std::unique_ptr<text_response> text_response_;
  http::header_list status_fields_;  // of the headers: they count if the body is empty
  encoding encoding_ = encoding::identity;
};

}  // namespace coracle::client
