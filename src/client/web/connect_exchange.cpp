#include "client/web/connect_exchange.hpp"

#include "coracle/rpc/status_details.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/connect/encodings.hpp"
#include "protocol/connect/get_request.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/connect/timeout.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "protocol/grpc/timeout.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "rpc/decompression.hpp"
#include "rpc/message_format.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace coracle::client {

namespace {

namespace connect = protocol::connect;
namespace grpc = protocol::grpc;
using protocol::envelope_prefix_bytes;

// Whether a received field is metadata. The time to wait before a retry (gRFC A6) is passed on in every
// protocol.
bool is_metadata(std::string_view name) noexcept {
  return !name.starts_with(':') && (name == grpc::retry_pushback_header || !connect::is_reserved_key(name));
}

// Decompresses JSON that ends a call. Returns nullopt if that fails.
std::optional<std::string> plain_json(encoding e, bool compressed, std::string_view text) {
  if (!compressed) return std::string(text);
  if (e == encoding::identity) return std::nullopt;
  rpc::decompression d(e);
  while (!d.step(as_bytes(text), connect::json_bytes_max, std::numeric_limits<std::size_t>::max())) continue;
  if (!d.failure().ok()) return std::nullopt;
  return std::string(as_text(d.body()));
}

}  // namespace

// --- both kinds

connect_exchange::connect_exchange(transport::exchange inner, const call_terms& terms, bool stream)
    : web_exchange(inner, terms), content_type_(connect::content_type_of(stream, codec())), stream_(stream) {}

void connect_exchange::write_request_headers(std::string_view method, std::string_view path, bool compressed,
                                             std::size_t body_bytes) {
  if (!inner_.begin_headers()) return;
  const bool get = method == "GET";
  for (const auto& [name, value] : block_) {
    if (name == ":method") {
      inner_.add_field(name, method);
    } else if (name == ":path") {
      inner_.add_field(name, path);
    } else if (name == "content-type") {
      if (!get) inner_.add_field(name, content_type_);
    } else if (name == grpc::timeout_header) {
      const auto timeout = grpc::parse_timeout(value);
      const auto text = timeout ? connect::format_timeout(*timeout) : connect::timeout_text();
      if (text.size != 0) inner_.add_field(connect::timeout_header, text.view());
    } else if (name == grpc::encoding_header) {
      if (compressed && !get) inner_.add_field(connect::encoding_header(stream_), value);
    } else if (name == grpc::accept_encoding_header) {
      inner_.add_field(connect::accept_encoding_header(stream_), value);
    } else if (name != "te") {
      inner_.add_field(name, value);
    }
  }
  if (!get) inner_.add_field(connect::protocol_version_header, connect::protocol_version);
  if (!get && !stream_) inner_.add_field("content-length", std::to_string(body_bytes));
  inner_.end_headers(get);
}

void connect_exchange::read_fields(const http::header_list& fields) {
  for (const auto& [name, value] : fields) {
    if (name == connect::encoding_header(stream_)) {
      const auto e = connect::content_encoding(value, encoding_set::all());
      encoding_ = e.value_or(encoding::identity);
      if (encoding_ != encoding::identity || !e)
        response_.add(grpc::encoding_header, e ? name_of(*e) : value);
    } else if (!stream_ && connect::is_trailer(name)) {
      if (is_metadata(connect::trailer_name(name))) trailing_.add(connect::trailer_name(name), value);
    } else if (is_metadata(name)) {
      response_.add(name, value);
    }
  }
}

void connect_exchange::finish_with(const connect::error& error, http::header_list trailing) {
  status reason(error.code, error.message);
  for (const connect::error_detail& d : error.details) reason = rpc::add_detail(reason, d.type, d.value);
  grpc::add_status(trailing, reason);
  finish(std::move(trailing), false);
}

void connect_exchange::finish_ok(http::header_list trailing) {
  trailing.add(grpc::status_header, "0");
  finish(std::move(trailing), true);
}

// --- streams

connect_stream_exchange::connect_stream_exchange(transport::exchange inner, const call_terms& terms)
    : connect_exchange(inner, terms, true), reader_(connect::end_stream_flag, connect::json_bytes_max) {}

void connect_stream_exchange::write_block() {
  write_request_headers("POST", block_.find(":path").value_or(""), true, 0);
}

void connect_stream_exchange::read_head(const response_head& head, const http::header_list& fields) {
  const auto content = connect::parse_content_type(head.content_type);
  if (head.http_status != 200 || !content || !content->stream) return reject_response(head, content_type_);
  accept_response(content->codec);
  read_fields(fields);
}

void connect_stream_exchange::receive(bytes_view bytes) {
  receive_frames(reader_, bytes, "end-stream message");
}

void connect_stream_exchange::end_body() {
  if (!reader_.complete())
    return fail(status::internal(reader_.inside_frame() ? "the response ends within a message"
                                                        : "the response ends without the end of its stream"));
  const auto json = plain_json(encoding_, reader_.last_compressed(), reader_.last());
  if (!json) return fail(status::internal("the message that ends the stream cannot be decompressed"));
  auto end = connect::read_end_stream(*json);
  if (!end) return fail(status::internal("the message that ends the stream is malformed"));
  http::header_list trailing;
  grpc::for_each_wire_field(
      end->metadata, [&](std::string_view name, std::string_view value) { trailing.add(name, value); });
  if (end->error) finish_with(*end->error, std::move(trailing));
  else finish_ok(std::move(trailing));
}

// --- unary calls

connect_unary_exchange::connect_unary_exchange(transport::exchange inner, const call_terms& terms,
                                               const wire_options& wire)
    : connect_exchange(inner, terms, false),
      max_receive_bytes_(terms.options.receive_limit()),
      compression_(terms.options.compression.value_or(compression())),
      get_target_bytes_max_(wire.connect_get && terms.no_side_effects ? wire.get_target_bytes_max : 0) {}

void connect_unary_exchange::commit_data(std::size_t n, bool end_stream) noexcept {
  request_.commit(n);
  if (end_stream) or_close([&] { send_request(); });
}

bool connect_unary_exchange::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n,
                                        bool end_stream) {
  request_.append({bytes.get(), n});
  if (end_stream) send_request();
  return true;
}

void connect_unary_exchange::want_writable(std::size_t low_bytes) noexcept {
  if (sent_) inner_.want_writable(low_bytes);
}

void connect_unary_exchange::send_request() {
  bytes_view message = request_.pending();
  const bool flagged = message.size() >= envelope_prefix_bytes && message[0] != 0;
  message = message.subspan(std::min(message.size(), envelope_prefix_bytes));
  // An empty body is an empty message in every encoding.
  const bool compressed = flagged || message.empty() || compress_small(message);
  const std::string path(block_.find(":path").value_or(""));
  sent_ = true;
  if (get_target_bytes_max_ == 0 || !send_get(path, compressed, as_text(message))) {
    write_request_headers("POST", path, compressed, message.size());
    inner_.write(message, true);
  }
  request_.clear();
  request_.release(0);
}

// Compresses a message of about a packet that does not become smaller by that: the header is then all that
// tells the server about the encoding, and it may choose that of its reply accordingly.
bool connect_unary_exchange::compress_small(bytes_view& message) {
  const encoding e = compression_.algorithm();
  if (e == encoding::identity || !available(e) || message.size() < compression_.min_bytes() ||
      message.size() > compression::min_bytes_default)
    return false;
  compress::coder* const c = rpc::message_workspace::here().coders.of(e);
  base::output_buffer smaller;
  if (!c || !c->compress(message, compression_.level(), smaller)) return false;
  request_.swap(smaller);
  message = request_.pending();
  return true;
}

bool connect_unary_exchange::send_get(std::string_view path, bool compressed, std::string_view message) {
  const std::string_view encoding_name =
      compressed ? block_.find(grpc::encoding_header).value_or("") : std::string_view();
  const auto target =
      connect::write_get_target({path, codec(), encoding_name, message}, get_target_bytes_max_);
  if (target) write_request_headers("GET", *target, compressed, 0);
  return target.has_value();
}

void connect_unary_exchange::read_head(const response_head& head, const http::header_list& fields) {
  const auto content = connect::parse_content_type(head.content_type);
  const bool ok = head.http_status == 200;
  if (!content || content->stream || (!ok && content->codec != connect::json_codec))
    return reject_response(head, ok ? std::string_view(content_type_) : connect::error_content_type);
  accept_response(ok ? content->codec : codec());
  read_fields(fields);
  if (!ok) error_status_ = head.http_status;
}

void connect_unary_exchange::receive(bytes_view bytes) {
  if (body_.empty()) {
    body_.reserve(envelope_prefix_bytes + bytes.size());
    body_.commit(envelope_prefix_bytes);
  }
  body_.append(bytes);
  inner_.consume(bytes.size());
  const std::size_t size = body_.size() - envelope_prefix_bytes;
  if (error_status_ != 0 ? size > connect::json_bytes_max : size > max_receive_bytes_) end_body();
}

void connect_unary_exchange::end_body() {
  if (error_status_ != 0) return end_with_error();
  if (body_.empty()) {
    body_.reserve(envelope_prefix_bytes);
    body_.commit(envelope_prefix_bytes);
  }
  // Of a body that is too large, the attempt reads the length. An empty body is an empty message.
  const std::size_t size = body_.size() - envelope_prefix_bytes;
  protocol::write_envelope_prefix(const_cast<std::uint8_t*>(body_.pending().data()),
                                  encoding_ != encoding::identity && size != 0,
                                  static_cast<std::uint32_t>(size));
  deliver_data(body_.pending());
  if (!released()) finish_ok(std::move(trailing_));
}

void connect_unary_exchange::end_with_error() {
  const std::string_view text =
      body_.empty() ? std::string_view() : as_text(body_.pending()).substr(envelope_prefix_bytes);
  const auto json = plain_json(encoding_, encoding_ != encoding::identity && !text.empty(), text);
  finish_with(connect::read_error(json.value_or(""), error_status_), std::move(trailing_));
}

}  // namespace coracle::client
