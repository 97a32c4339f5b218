#include "server/web/web_exchange.hpp"

#include "base/percent.hpp"
#include "coracle/base/impl/base64.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/connect/error.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/fitted_status.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "protocol/grpc_web/content_type.hpp"
#include "protocol/grpc_web/trailers.hpp"
#include "rpc/detail_list.hpp"
#include "server/call/server_call.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::server_internal {

// --- web_exchange

void web_exchange::on_slow_body() noexcept {
  call().cancel(status::resource_exhausted("a message arrived too slowly (see server_limits::stall_time)"));
}

void web_exchange::owe_credit(std::size_t received, std::size_t passed) noexcept {
  if (const std::size_t n = credit_.owe(received, passed)) inner_.consume(n);
}

void web_exchange::return_credit(std::size_t consumed) noexcept {
  if (const std::size_t n = credit_.give_back(consumed)) inner_.consume(n);
}

void web_exchange::release() noexcept {
  inner_.release();
  delete this;
}

// Trailers of a request mean only its end, as in gRPC.
void web_exchange::on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) {
  transport::field unused;
  while (fields.next(unused)) continue;
  if (fields.ok() && kind == transport::block_kind::trailers && end_stream) receive({}, true);
}

void web_exchange::on_reset(const transport::abnormal_end& end) noexcept {
  if (handler_) return handler_->on_reset(end);  // releases this
  release();
}

void web_exchange::write_headers(std::string_view content_type, std::string_view encoding_name,
                                 std::string_view accept_encoding_name) {
  if (!inner_.begin_headers()) return;
  inner_.add_field(":status", "200");
  inner_.add_field("content-type", content_type);
  inner_.add_general_fields([this](std::string_view name) { return block_.contains(name); });
  const bool with_metadata = accepts(list_bytes_of(block_), "the initial metadata");
  for (const auto& [name, value] : block_) {
    if (name.starts_with(':') || name == "content-type") continue;
    if (name == protocol::grpc::encoding_header) inner_.add_field(encoding_name, value);
    else if (name == protocol::grpc::accept_encoding_header) inner_.add_field(accept_encoding_name, value);
    else if (with_metadata) inner_.add_field(name, value);
  }
  if (has_cross_origin_fields()) {
    std::vector<std::string_view> names;
    for (const auto& field : block_) names.push_back(field.name);
    add_cross_origin_fields(names);
  }
  inner_.end_headers(false);
}

std::size_t list_bytes_of(const http::header_list& fields) noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, value] : fields) bytes += protocol::grpc::list_bytes(name, value);
  return bytes;
}

bool web_exchange::accepts(std::size_t metadata_bytes, std::string_view what) noexcept {
  constexpr std::size_t http_fields_bytes_max = 512;  // those of HTTP, with Date and the like
  const std::size_t limit_bytes = inner_.peer_header_list_bytes();
  if (metadata_bytes == 0 || http_fields_bytes_max + metadata_bytes <= limit_bytes) return true;
  if (handler_) call().log_left_out(what, limit_bytes);
  return false;
}

void web_exchange::add_cross_origin_fields(std::span<const std::string_view> names) {
  if (!cross_origin_) return;
  http::header_list fields;
  cross_origin_->add_response_fields(names, fields);
  for (const auto& [name, value] : fields) inner_.add_field(name, value);
}

bool is_status_field(std::string_view name) noexcept {
  return name == protocol::grpc::status_header || name == protocol::grpc::message_header ||
         name == protocol::grpc::status_details_header;
}

written_status read_written_status(const http::header_list& trailers) {
  written_status s;
  for (const auto& [name, value] : trailers) {
    if (name == protocol::grpc::status_header) s.code = protocol::grpc::parse_status_code(value);
    else if (name == protocol::grpc::message_header) s.message = base::percent_decode(value);
    else if (name == protocol::grpc::status_details_header && !base::base64_decode(value, s.details))
      s.details.clear();
  }
  return s;
}

std::string retry_after_of(const http::header_list& trailers) {
  const auto pushback = trailers.find(protocol::grpc::retry_pushback_header);
  std::uint32_t ms = 0;
  if (!pushback) return {};
  const char* const end = pushback->data() + pushback->size();
  if (const auto read = std::from_chars(pushback->data(), end, ms); read.ec != std::errc() || read.ptr != end)
    return {};
  return std::to_string(std::max(ms / 1000 + (ms % 1000 != 0), 1u));
}

protocol::connect::error connect_error(written_status s) {
  protocol::connect::error e{s.code, std::move(s.message), {}};
  rpc::for_each_detail(s.details, [&](std::string_view type_name, std::string_view bytes) {
    e.details.push_back({std::string(type_name), std::string(bytes)});
  });
  return e;
}

// --- gRPC-Web

grpc_web_exchange::grpc_web_exchange(transport::exchange inner, bool text, std::string_view content_subtype)
    : web_exchange(inner),
      content_type_(protocol::grpc_web::content_type_of(text, content_subtype)),
      text_(text ? std::make_unique<text_form>() : nullptr) {}

void grpc_web_exchange::receive(bytes_view bytes, bool end_stream) {
  if (!text_) return handler_->on_data(bytes, end_stream);
  text_->decoded.clear();
  const bool valid =
      text_->decoder.decode(as_text(bytes), text_->decoded) && (!end_stream || text_->decoder.complete());
  owe_credit(bytes.size(), valid ? text_->decoded.size() : 0);
  if (valid) return handler_->on_data(as_bytes(text_->decoded), end_stream);
  call().cancel(status::internal("the body is not valid base64"));
}

void grpc_web_exchange::consume(std::size_t n) noexcept {
  if (text_) return_credit(n);
  else inner_.consume(n);
}

std::uint8_t* grpc_web_exchange::reserve_data(std::size_t n) {
  if (!text_) return inner_.reserve_data(n);
  text_->reserved.resize(n);
  return reinterpret_cast<std::uint8_t*>(text_->reserved.data());
}

void grpc_web_exchange::commit_data(std::size_t n, bool end_stream) noexcept {
  if (!text_) return inner_.commit_data(n, end_stream);
  or_close([&] { write_text(as_bytes(text_->reserved), end_stream); });
}

bool grpc_web_exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
  if (!text_) return inner_.queue_data(std::move(bytes), n, end_stream);
  write_text({bytes.get(), n}, end_stream);
  return true;
}

void grpc_web_exchange::write_text(bytes_view bytes, bool end_stream) {
  text_->encoded.clear();
  text_->encoder.encode(bytes, text_->encoded);
  text_->encoder.flush(text_->encoded);
  inner_.write(as_bytes(text_->encoded), end_stream);
}

void grpc_web_exchange::send_response_headers() {
  write_headers(content_type_, protocol::grpc::encoding_header, protocol::grpc::accept_encoding_header);
}

void grpc_web_exchange::send_response_end() {
  protocol::grpc_web::trailer_block trailers;
  for (const auto& [name, value] : block_) trailers.add(name, value);
  const std::string frame = trailers.take_frame();
  if (text_) write_text(as_bytes(frame), true);
  else inner_.write(as_bytes(frame), true);
}

// --- streams of Connect

connect_stream_exchange::connect_stream_exchange(transport::exchange inner, std::string_view codec)
    : web_exchange(inner), content_type_(protocol::connect::content_type_of(true, codec)) {}

void connect_stream_exchange::send_response_headers() {
  write_headers(content_type_, protocol::connect::stream_encoding_header,
                protocol::connect::stream_accept_encoding_header);
}

void connect_stream_exchange::send_response_end() {
  written_status s = read_written_status(block_);
  http::header_list trailers;
  for (const auto& [name, value] : block_)
    if (!is_status_field(name)) trailers.add(name, value);
  std::optional<protocol::connect::error> error;
  if (s.code != status_code::ok) error = connect_error(std::move(s));
  const std::string json = protocol::connect::write_end_stream(error ? &*error : nullptr, trailers);
  std::string frame(protocol::envelope_prefix_bytes, '\0');
  protocol::write_envelope_prefix(reinterpret_cast<std::uint8_t*>(frame.data()),
                                  protocol::connect::end_stream_flag,
                                  static_cast<std::uint32_t>(json.size()));
  inner_.write(as_bytes(frame.append(json)), true);
}

}  // namespace coracle::server_internal
