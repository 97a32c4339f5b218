#include "client/web/grpc_web_exchange.hpp"

#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "protocol/grpc_web/content_type.hpp"
#include "rpc/decompression.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace coracle::client {

namespace {

namespace grpc = protocol::grpc;
namespace grpc_web = protocol::grpc_web;

constexpr std::string_view last_frame = "trailers";

bool is_ok(const http::header_list& trailers) noexcept {
  return grpc::parse_status_code(trailers.find_last(grpc::status_header).value_or("")) == status_code::ok;
}

}  // namespace

grpc_web_exchange::grpc_web_exchange(transport::exchange inner, const call_terms& terms, bool text)
    : web_exchange(inner, terms),
      content_type_(grpc_web::content_type_of(text, codec())),
      one_reply_(terms.unary || terms.one_reply),
      text_(text ? std::make_unique<text_request>() : nullptr) {}

// --- the request

void grpc_web_exchange::write_block() {
  if (!inner_.begin_headers()) return;
  for (const auto& [name, value] : block_)
    if (name != "te")
      inner_.add_field(name, name == "content-type" ? std::string_view(content_type_) : value);
  inner_.add_field("x-grpc-web", "1");
  if (text_) inner_.add_field("accept", content_type_);
  inner_.end_headers(false);
}

std::uint8_t* grpc_web_exchange::reserve_data(std::size_t n) {
  if (!text_) return web_exchange::reserve_data(n);
  text_->reserved.resize(n);
  return reinterpret_cast<std::uint8_t*>(text_->reserved.data());
}

void grpc_web_exchange::commit_data(std::size_t n, bool end_stream) noexcept {
  if (!text_) return web_exchange::commit_data(n, end_stream);
  or_close([&] { write_text(as_bytes(std::string_view(text_->reserved).substr(0, n)), end_stream); });
}

bool grpc_web_exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
  if (!text_) return web_exchange::queue_data(std::move(bytes), n, end_stream);
  write_text({bytes.get(), n}, end_stream);
  return true;
}

// If the server replies only after the end of the requests, they are one text with padding at its end,
// because not every server reads padding between messages. Otherwise each message must arrive as a whole.
void grpc_web_exchange::write_text(bytes_view bytes, bool end_stream) {
  text_->encoded.clear();
  text_->encoder.encode(bytes, text_->encoded);
  if (end_stream || !one_reply_) text_->encoder.flush(text_->encoded);
  inner_.write(as_bytes(text_->encoded), end_stream);
}

// --- the response

void grpc_web_exchange::read_head(const response_head& head, const http::header_list& fields) {
  const auto content = grpc_web::parse_content_type(head.content_type);
  if (head.http_status != 200 || !content) return reject_response(head, content_type_);
  accept_response(content->subtype);
  if (content->text) text_response_ = std::make_unique<text_response>();
  for (const auto& [name, value] : fields) {
    if (grpc::is_status_field(name)) status_fields_.add(name, value);
    else if (name != ":status" && name != "content-type") response_.add(name, value);
    if (name == grpc::encoding_header)
      encoding_ = grpc::accepted_encoding(value, encoding_set::all()).value_or(encoding::identity);
  }
}

void grpc_web_exchange::receive(bytes_view bytes) {
  if (!text_response_) return receive_frames(reader_, bytes, last_frame);
  text_response& t = *text_response_;
  t.uncredited += bytes.size();
  t.decoded.clear();
  const bool valid = t.decoder.decode(as_text(bytes), t.decoded);
  if (!t.decoded.empty()) receive_frames(reader_, as_bytes(t.decoded), last_frame);
  if (!valid && !released()) fail(status::internal("the response's body is not valid base64"));
}

// The attempt counts the bytes of messages, of which the text has four for each three.
void grpc_web_exchange::consume(std::size_t n) noexcept {
  if (!text_response_) return web_exchange::consume(n);
  const std::size_t credit = std::min(text_response_->uncredited, n + n / 3 + 1);
  text_response_->uncredited -= credit;
  web_exchange::consume(credit);
}

void grpc_web_exchange::end_body() {
  if (text_response_ && !text_response_->decoder.complete())
    return fail(status::internal("the response's body ends within a group of base64"));
  if (reader_.complete()) return read_trailers();
  if (reader_.empty() && status_fields_.contains(grpc::status_header)) {
    const bool ok = is_ok(status_fields_);
    return finish(std::move(status_fields_), ok);
  }
  fail(status::internal(reader_.inside_frame() ? "the response ends within a message"
                                               : "the response ends without trailers"));
}

void grpc_web_exchange::read_trailers() {
  std::string_view content = reader_.last();
  std::optional<rpc::decompression> decompressed;
  if (reader_.last_compressed()) {
    if (encoding_ == encoding::identity)
      return fail(status::internal("the response's trailers are compressed without a grpc-encoding"));
    decompressed.emplace(encoding_);
    while (!decompressed->step(as_bytes(content), grpc_web::trailer_bytes_max,
                               std::numeric_limits<std::size_t>::max()))
      continue;
    if (!decompressed->failure().ok())
      return fail(status::internal("the response's trailers cannot be decompressed"));
    content = as_text(decompressed->body());
  }
  http::header_list trailers;
  grpc_web::trailer_lines lines(content);
  for (http::header_view field; lines.next(field);) trailers.add(field.name, field.value);
  if (lines.error() != grpc_web::trailer_error::none)
    return fail(status::internal("the response's trailers are malformed: " +
                                 std::string(grpc_web::to_string(lines.error()))));
  if (!trailers.contains(grpc::status_header))
    return fail(status::internal("the response's trailers have no grpc-status"));
  const bool ok = is_ok(trailers);
  finish(std::move(trailers), ok);
}

}  // namespace coracle::client
